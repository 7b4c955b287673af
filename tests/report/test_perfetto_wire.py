from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackDescriptor, TrackEvent

from report import perfetto_wire

ids = st.integers(0, 2**64 - 1)
times = st.integers(0, 2**63)
notes = st.dictionaries(st.text(min_size=1), st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text())


@given(ids, times, st.text(), st.text(min_size=1), notes, st.lists(ids), st.lists(ids), st.booleans())
def test_a_slice_is_read_back_as_it_was_written(
    uuid: int,
    at_ns: int,
    name: str,
    category: str,
    said: dict[str, int | float | str],
    flows_out: list[int],
    flows_in: list[int],
    is_instant: bool,
) -> None:
    written = perfetto_wire.begin(uuid, at_ns, name, category, said, flows_out, flows_in, is_instant=is_instant)
    (packet,) = Trace.FromString(written).packet
    event = packet.track_event
    assert (packet.timestamp, packet.trusted_packet_sequence_id) == (at_ns, 1)
    assert event.type == (TrackEvent.TYPE_INSTANT if is_instant else TrackEvent.TYPE_SLICE_BEGIN)
    assert (event.track_uuid, event.name, list(event.categories)) == (uuid, name, [category])
    assert (list(event.flow_ids), list(event.terminating_flow_ids)) == (flows_out, flows_in)
    read = {note.name: getattr(note, note.WhichOneof("value")) for note in event.debug_annotations}
    assert read == said


@given(ids, times, st.integers(-(2**63), 2**63 - 1))
def test_ends_and_counts(uuid: int, at_ns: int, value: int) -> None:
    end, count = Trace.FromString(perfetto_wire.end(uuid, at_ns) + perfetto_wire.count(uuid, at_ns, value)).packet
    assert (end.track_event.type, end.track_event.track_uuid) == (TrackEvent.TYPE_SLICE_END, uuid)
    assert (count.track_event.type, count.track_event.counter_value) == (TrackEvent.TYPE_COUNTER, value)
    assert end.timestamp == count.timestamp == at_ns


@given(ids, times, st.floats(allow_nan=False))
def test_levels_may_have_a_fraction(uuid: int, at_ns: int, value: float) -> None:
    (packet,) = Trace.FromString(perfetto_wire.level(uuid, at_ns, value)).packet
    assert (packet.track_event.type, packet.track_event.track_uuid) == (TrackEvent.TYPE_COUNTER, uuid)
    assert (packet.track_event.double_counter_value, packet.timestamp) == (value, at_ns)


def test_tracks_keep_their_name_place_and_unit_and_are_never_merged() -> None:
    written = perfetto_wire.track(1, "lane 0", None, 4) + perfetto_wire.track(2, "in flight", 1, 0, "requests")
    group, counter = (packet.track_descriptor for packet in Trace.FromString(written).packet)
    assert (group.uuid, group.name, group.sibling_order_rank) == (1, "lane 0", 4)
    assert not group.HasField("parent_uuid")
    assert not group.HasField("counter")
    assert (counter.parent_uuid, counter.counter.unit_name) == (1, "requests")
    assert group.child_ordering == TrackDescriptor.EXPLICIT
    assert counter.sibling_merge_behavior == TrackDescriptor.SIBLING_MERGE_BEHAVIOR_NONE
