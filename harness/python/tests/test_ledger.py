"""The ledger of Python and the one of `peakmark show` give the same figures for the same profile."""

import pathlib
import random
import re

import pytest
from recorded import recorded

from peakmark.ledger import OWN, Ledger, Source, grouped, grouped_requests
from peakmark.profiles import ERROR_NAMES, HEADER_BYTES, SLOT_BYTES, Event, EventReader, ProfileError
from peakmark.recorders import RecorderError
from peakmark.windows import Window

ALLOCATION, FAILED, RELEASE, NAME, PHASE = 1, 2, 3, 4, 5
RECORDER = Source(OWN, 0)


def event(kind_of_event, address, amount=0, kind=1, text=""):
    return Event(kind_of_event, 0, address, kind, amount, 0, 0, text)


def replayed(events, ledger=None):
    ledger = ledger or Ledger()
    view = ledger.open_view()
    for one in events:
        ledger.replay(RECORDER, one)
    return view


def test_the_peak_is_the_first_of_equal_ones_and_knows_what_was_live():
    view = replayed(
        [
            event(ALLOCATION, 1, 100), event(ALLOCATION, 2, 50), event(NAME, 2, text="table"),
            event(RELEASE, 1), event(ALLOCATION, 3, 100), event(RELEASE, 2), event(RELEASE, 3),
        ]
    )  # fmt: skip
    assert (view.own.peak_bytes, view.own.live_bytes) == (150, 0)
    at_peak = [(one.name, one.bytes) for one in grouped(view.own.at_peak(), lambda _: "")]
    assert at_peak == [("", 100), ("table", 50)]


def test_what_was_live_before_is_everything_s_and_not_its_own():
    ledger = Ledger()
    outer = replayed([event(ALLOCATION, 1, 1000)], ledger)
    inner = replayed([event(RELEASE, 1), event(ALLOCATION, 2, 30)], ledger)
    assert (inner.live_at_start_bytes, inner.own.peak_bytes, inner.everything.peak_bytes) == (1000, 30, 1000)
    assert (outer.own.peak_bytes, outer.own.live_bytes) == (1000, 30)


def test_since_an_earlier_view_counts_what_was_made_in_between():
    ledger = Ledger()
    ledger.replay(RECORDER, event(ALLOCATION, 9, 5000))
    set_up = replayed([event(ALLOCATION, 1, 1000)], ledger)
    call = ledger.open_view(set_up)
    ledger.replay(RECORDER, event(ALLOCATION, 2, 10))
    assert (call.own.peak_bytes, call.since.peak_bytes, call.everything.peak_bytes) == (10, 1010, 6010)


def test_memory_whose_release_was_refused_is_live_again_and_not_new():
    again = event(ALLOCATION, 1, 100)._replace(result=700)
    view = replayed([event(ALLOCATION, 1, 100), event(RELEASE, 1), again])
    assert (view.counts.allocations, view.counts.total_bytes) == (1, 100)
    assert view.own.live_bytes == 100


def test_an_address_that_comes_again_was_released():
    view = replayed([event(ALLOCATION, 1, 100), event(ALLOCATION, 1, 20)])
    assert (view.own.peak_bytes, view.own.live_bytes) == (100, 20)


def test_memory_of_the_host_stands_beside_the_peak():
    view = replayed([event(ALLOCATION, 1, 100, kind=6), event(ALLOCATION, 2, 10), event(RELEASE, 1), event(FAILED, 0, 7)])
    assert view.own.peak_bytes == 10
    assert view.counts.beside == {"host_pointer": 100}
    assert (view.counts.failed_allocations, view.counts.failed_bytes) == (1, 7)


def test_two_recorders_have_addresses_of_their_own():
    ledger = Ledger()
    view = ledger.open_view()
    for source in (RECORDER, Source(OWN, 1)):
        ledger.replay(source, event(ALLOCATION, 1, 10))
    ledger.replay(Source(OWN, 1), event(RELEASE, 1))
    assert (view.own.peak_bytes, view.own.live_bytes) == (20, 10)


def test_a_child_has_phases_of_its_own_and_holds_nothing_when_it_is_over():
    ledger = Ledger()
    view = ledger.open_view()
    child = Source(4711, 0)
    for source, amount in ((RECORDER, 100), (child, 30), (RECORDER, 5)):
        ledger.replay(source, event(PHASE, 0, text=f"of {source.process}"))
        ledger.replay(source, event(ALLOCATION, amount, amount))
    ledger.end(child, 0)
    ledger.replay(RECORDER, event(ALLOCATION, 7, 7))
    assert (view.own.peak_bytes, view.own.live_bytes) == (135, 112)
    assert [(one.phase, one.child, one.bytes) for one in grouped(view.own.at_peak(), lambda _: "")] == [
        ("of 0", False, 105), ("of 4711", True, 30),
    ]  # fmt: skip


def test_a_hole_is_lost_events(tmp_path, monkeypatch):
    recorded(tmp_path, "from small_opencl import Context\ncontext = Context()\nlive = [context.buffer(8) for _ in range(9)]")
    path = tmp_path / "program.profile"
    with open(path, "r+b") as file:
        file.seek(HEADER_BYTES + 2 * SLOT_BYTES)
        file.write(bytes(2 * SLOT_BYTES))
    slots = (path.stat().st_size - HEADER_BYTES) // SLOT_BYTES
    monkeypatch.setattr(EventReader, "SECONDS_FOR_A_SLOT", 0)
    for read in (lambda reader: reader.read(slots), lambda reader: reader.read_written(True)):
        reader = EventReader(str(path))
        assert reader.lost_events() == 0
        read(reader)
        assert (reader.lost_events(), reader.why_lost()) == (2, "")


@pytest.mark.parametrize("seed", range(4))
def test_a_random_program_has_the_figures_of_show(tmp_path, seed):
    chance = random.Random(seed)
    lines, live = [], []
    for i in range(300):
        if live and chance.random() < 0.45:
            lines.append(f"live.pop({chance.randrange(len(live))}).release()")
            live.pop()
        else:
            lines.append(f"live.append(context.buffer({chance.randrange(1, 10000)}))")
            live.append(i)
        if chance.random() < 0.1:
            lines.append(f"peakmark.phase({'é phase ' * chance.randrange(9) + str(i % 3)!r}).__enter__()")
        if live and chance.random() < 0.1:
            lines.append(f"peakmark.name(live[{chance.randrange(len(live))}], 'name {i % 4}')")
    script = "import peakmark\nfrom small_opencl import Context\ncontext, live = Context(), []\n" + "\n".join(lines)
    shown = recorded(tmp_path, script)

    reader = EventReader(str(tmp_path / "program.profile"))
    slots = ((tmp_path / "program.profile").stat().st_size - HEADER_BYTES) // SLOT_BYTES
    ledger = Ledger()
    view = ledger.open_view()
    for one in reader.read(slots):
        ledger.replay(RECORDER, one)
    assert reader.read(slots) == []
    requested = shown["requested"]
    assert view.own.peak_bytes == view.everything.peak_bytes == requested["peak_bytes"]
    assert view.own.live_bytes == requested["live_at_end_bytes"]
    assert view.counts.allocations == requested["allocations"]
    assert view.counts.total_bytes == requested["total_bytes"]
    at_peak = [(one.name, one.kind, one.phase, one.bytes, one.count) for one in grouped(view.own.at_peak(), lambda _: "")]
    assert sorted(at_peak) == sorted(
        (one["name"], one["kind"], one["phase"], one["bytes"], one["count"]) for one in shown["at_peak"]
    )


def test_another_file_is_no_profile(tmp_path):
    other = tmp_path / "other"
    for content in (b"", b"PEAKMARK", b"#" * 5000):
        other.write_bytes(content)
        with pytest.raises(ProfileError, match="is no profile of peakmark"):
            EventReader(str(other))
    other.write_bytes(b"PEAKMARK" + bytes([9, 0, 0, 0, 0, 16, 0, 0]) + bytes(4096))
    with pytest.raises(ProfileError, match="version 9"):
        EventReader(str(other))


def test_requests_that_are_alike_are_one_line_and_the_largest_comes_first():
    def failed(amount, result):
        return event(FAILED, 0, amount)._replace(result=result)

    view = replayed(
        [failed(10, -61), event(PHASE, 0, text="call"), failed(10, -61), failed(10, -61), failed(-1, 2), failed(10, 12345)]
    )
    told = [
        (one.bytes, one.kind, one.error, one.error_name, one.phase, one.count)
        for one in grouped_requests(view.counts.refused, lambda _: "")
    ]
    assert told == [
        (2**63 - 1, "buffer", 2, "CUDA_ERROR_OUT_OF_MEMORY", "call", 1),
        (10, "buffer", -61, "CL_INVALID_BUFFER_SIZE", "", 1),
        (10, "buffer", -61, "CL_INVALID_BUFFER_SIZE", "call", 2),
        (10, "buffer", 12345, None, "call", 1),
    ]


def test_errors_have_the_names_of_the_recorder_s_own_table():
    source = pathlib.Path(__file__).parents[2] / "profile" / "event.cpp"
    table = {int(number): name for number, name in re.findall(r'\{(-?\d+), "(CL_\w+|CUDA_ERROR_\w+)"\}', source.read_text())}
    assert len(table) > 20
    assert table == ERROR_NAMES


def test_a_recording_that_is_made_compact_has_no_windows(monkeypatch):
    monkeypatch.setenv("PEAKMARK_COMPACT", "1")
    with pytest.raises(RecorderError, match="without --compact"):
        Window().__enter__()
