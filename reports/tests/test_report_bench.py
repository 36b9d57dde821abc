from report_bench import measure, write_inputs


def test_report_reads_the_files_of_the_benchmark(tmp_path):
    write_inputs(tmp_path, cases=3, run_count=30)
    figures = measure(tmp_path)
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    # Cases 0 and 17, 23, … are planted to change: here the first one.
    assert "1 case needs attention" in page and "Simulated." in page
    assert 0 < figures["page_mb"] <= figures["page_and_data_mb"] <= figures["all_mb"] < 10
