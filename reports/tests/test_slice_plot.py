import numpy as np
import pytest
from peakmark_reports.__main__ import main
from peakmark_reports.figure_style import pyplot
from peakmark_reports.slice_plot import SliceError, draw_slice, load_slice


def disk(size: int) -> np.ndarray:
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    return (x * x + y * y < (0.3 * size) ** 2).astype(np.float32)


@pytest.fixture
def files(tmp_path):
    truth = disk(40)
    np.save(tmp_path / "truth.npy", truth)
    np.save(tmp_path / "disk.npy", truth * np.float32(0.9) + np.float32(0.02))
    return tmp_path / "disk.npy", tmp_path / "truth.npy"


def test_the_file_is_drawn(files):
    slice_ = load_slice(*files, row=13)
    drawing = draw_slice(slice_)
    picture, profile = drawing.axes[:2]
    (image,) = picture.get_images()
    assert np.array_equal(image.get_array(), np.load(files[0]))
    assert image.get_clim() == (0, 1)
    assert list(picture.get_lines()[0].get_ydata()) == [13, 13]
    truth, values = profile.get_lines()
    assert np.array_equal(truth.get_ydata(), np.load(files[1])[13])
    assert np.array_equal(values.get_ydata(), np.load(files[0])[13])
    pyplot.close(drawing)


def test_without_the_truth_grey_values_are_those_of_the_slice_and_the_profile_is_the_middle_row(files):
    slice_ = load_slice(files[0])
    assert slice_.row == 20
    assert slice_.limits() == pytest.approx((0.02, 0.92))
    drawing = draw_slice(slice_)
    assert len(drawing.axes[1].get_lines()) == 1
    pyplot.close(drawing)


def test_files_are_written_reproducibly(files, tmp_path):
    for folder in ("a", "b"):
        assert main(["slice", str(files[0]), "--truth", str(files[1]), "-o", str(tmp_path / folder)]) == 0
    for name in ("disk.png", "disk.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_one_slice_of_a_stack_of_one(tmp_path):
    np.save(tmp_path / "stack.npy", disk(8)[None])
    assert load_slice(tmp_path / "stack.npy").values.shape == (8, 8)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((2, 8, 8), np.float32), r"shape \(2, 8, 8\)"),
        (np.zeros((0, 8), np.float32), r"shape \(0, 8\)"),
        (np.zeros((8, 8), np.int32), "array of floats"),
        (np.full((8, 8), np.nan, np.float32), "no finite value"),
    ],
)
def test_a_file_that_is_not_a_slice_is_an_error(tmp_path, values, message):
    np.save(tmp_path / "slice.npy", values)
    with pytest.raises(SliceError, match=message):
        load_slice(tmp_path / "slice.npy")


def test_wrong_input_is_exit_2(files, tmp_path, capsys):
    (tmp_path / "text.npy").write_text("no array")
    np.save(tmp_path / "small.npy", disk(8))
    for arguments, word in (
        ([tmp_path / "none.npy"], "none.npy"),
        ([tmp_path / "text.npy"], "not a .npy file"),
        ([files[0], "--truth", tmp_path / "small.npy"], "(8, 8)"),
        ([files[0], "--row", "40"], "no row 40"),
    ):
        assert main(["slice", *map(str, arguments), "-o", str(tmp_path)]) == 2
        assert word in capsys.readouterr().err
