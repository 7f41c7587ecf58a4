"""slurm.conf and gres.conf read as Slurm reads them, with file and line."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gres_config.errors import GresConfigError
from gres_config.parse.cores import expand_cores
from gres_config.parse.counts import parse_count, parse_gres
from gres_config.parse.gres_conf import GresConf, parse_gres_conf
from gres_config.parse.lines import MAX_BYTES, read_lines, split_lines
from gres_config.parse.slurm_conf import SlurmConf, parse_slurm_conf, read_slurm_conf
from gres_config.parse.times import UNLIMITED, parse_minutes
from gres_config.parse.topology import fold_numbers, read_topology
from gres_config.parse.views import build_views
from gres_config.parse.words import render_words, split_words


def slurm(text: str) -> SlurmConf:
    return parse_slurm_conf(split_lines(text, "slurm.conf"), "slurm.conf")


def gres(text: str) -> GresConf:
    return parse_gres_conf(split_lines(text, "gres.conf"), "gres.conf")


def texts(text: str) -> list[tuple[int, str]]:
    return [(line.source.line, line.text.strip()) for line in split_lines(text, "f")]


def test_joins_continued_lines_under_the_first_number() -> None:
    assert texts("a=1 \\\n b=2 \\\n c=3\nd=4\n") == [(1, "a=1  b=2  c=3"), (4, "d=4")]


def test_a_comment_ends_a_line_unless_the_sign_is_escaped() -> None:
    assert texts("a=1 # b=2\n#c\nd=\\#5\n") == [(1, "a=1"), (3, "d=#5")]


def test_two_backslashes_at_the_end_continue_nothing() -> None:
    assert texts("a=1\\\\\nb=2\n") == [(1, "a=1\\"), (2, "b=2")]


def test_a_comment_after_a_continuation_ends_it() -> None:
    assert texts("a=1 \\\n# b=2\nc=3\n") == [(1, "a=1"), (3, "c=3")]


def test_reads_keys_in_any_case_and_quoted_values() -> None:
    conf = slurm('gresTYPES=gpu\nNODENAME=n1 reason="a b" cpus = 4\n')
    assert conf.get("grestypes") == "gpu"
    assert dict(conf.nodes[0].words) == {"reason": "a b", "cpus": "4"}


def test_default_lines_hold_for_the_lines_after_them() -> None:
    conf = slurm(
        "NodeName=a\nNodeName=DEFAULT CPUs=4 Weight=2\nNodeName=b Weight=3\n"
        "NodeName=DEFAULT CPUs=8\nNodeName=c\n"
    )
    assert [dict(node.words) for node in conf.nodes] == [
        {},
        {"cpus": "4", "weight": "3"},
        {"cpus": "8", "weight": "2"},
    ]


def test_the_last_of_two_settings_counts() -> None:
    assert slurm("KillWait=1\nKillWait=2\n").get("killwait") == "2"


def test_two_settings_in_a_line_are_a_fault_with_its_line() -> None:
    conf = slurm("\nKillWait=1 MinJobAge=2\n")
    assert [(fault.source.line, fault.mend) for fault in conf.faults] == [
        (2, "KillWait=1\nMinJobAge=2")
    ]


def test_include_is_read_beside_its_file_and_knows_the_cluster(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("ClusterName=Abc\nINCLUDE %c.conf\nNodeName=n2\n")
    (tmp_path / "abc.conf").write_text("\nNodeName=n1\n")
    conf = read_slurm_conf(tmp_path / "slurm.conf")
    assert [(node.name, node.source.line) for node in conf.nodes] == [("n1", 2), ("n2", 3)]
    assert conf.nodes[0].source.file == str(tmp_path / "abc.conf")


def test_an_indented_include_is_no_include(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("ClusterName=a\n  Include b.conf\n")
    assert read_slurm_conf(tmp_path / "slurm.conf").faults[0].source.line == 2


@pytest.mark.parametrize(
    ("files", "where", "reason"),
    [
        ({"slurm.conf": b"Include b.conf\n"}, ("slurm.conf", 1), "cannot read"),
        (
            {"slurm.conf": b"\nInclude b.conf\n", "b.conf": b"\n\nInclude slurm.conf\n"},
            ("b.conf", 3),
            "circle",
        ),
        ({"slurm.conf": b"Include slurm.conf\n"}, ("slurm.conf", 1), "circle"),
        ({"slurm.conf": b"a=1\nb=\xff\n"}, ("slurm.conf", 2), "not UTF-8"),
        ({"slurm.conf": b"Include %c.conf\n"}, ("slurm.conf", 1), "ClusterName"),
        ({}, ("slurm.conf", 1), "cannot read"),
    ],
)
def test_what_cannot_be_read_is_refused_with_file_and_line(
    tmp_path: Path, files: dict[str, bytes], where: tuple[str, int], reason: str
) -> None:
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(GresConfigError, match=reason) as caught:
        list(read_lines(tmp_path / "slurm.conf"))
    assert (Path(caught.value.file_name).name, caught.value.line) == where


def test_a_file_of_100_mb_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "slurm.conf"
    with path.open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    with pytest.raises(
        GresConfigError, match=rf"slurm.conf:1: this file has \d+ bytes; at most {MAX_BYTES}"
    ):
        read_slurm_conf(path)


def test_a_pipe_and_a_folder_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(GresConfigError, match="no plain file"):
            read_slurm_conf(path)


def test_a_deep_chain_of_includes_is_refused(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number}.conf").write_text(f"Include {number + 1}.conf\n")
    with pytest.raises(GresConfigError, match="nested"):
        list(read_lines(tmp_path / "0.conf"))


def test_gres_lines_are_for_named_nodes_or_for_all() -> None:
    conf = gres(
        "AutoDetect=off\nNodeName=n[1-2] Name=gpu Type=a File=/dev/a[0-3] Flags=x,y\n"
        "name=fpga count=2\n"
    )
    first, second = conf.lines
    assert (first.hosts, first.body.files, first.body.flags) == (
        "n[1-2]",
        ("/dev/a0", "/dev/a1", "/dev/a2", "/dev/a3"),
        ("x", "y"),
    )
    assert (second.hosts, second.body.name, second.body.count) == (None, "fpga", "2")
    assert conf.autodetect is not None
    assert not conf.faults


def test_lines_of_gres_conf_that_end_slurmd_are_faults() -> None:
    conf = gres("Type=a Name=gpu\nName=gpu NodeName=n1\nNodeName=n1 Foo=1 Name=gpu\nnonsense\n")
    assert [fault.source.line for fault in conf.faults] == [1, 2, 3, 4]
    for fault in conf.faults:
        assert not gres(fault.mend).faults


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("8", 8),
        ("2K", 2048),
        ("2kib", 2048),
        ("2KB", 2000),
        ("80gb", 80 * 10**9),
        ("2ib", None),
        ("-1", None),
        ("", None),
        ("1g.10gb", None),
        ("9" * 30, None),
    ],
)
def test_reads_counts_with_slurms_suffixes(text: str, count: int | None) -> None:
    assert parse_count(text) == count


def test_reads_the_entries_of_gres_as_slurm_takes_them() -> None:
    found = parse_gres("gpu:a100:4(S:0-1),gpu:8,gpu:tesla,gpu:1g.10gb,shard,gpu:no_consume:2")
    assert [(e.name, e.type, e.count, e.has_count, e.is_misread) for e in found] == [
        ("gpu", "a100", 4, True, False),
        ("gpu", "", 8, True, False),
        ("gpu", "tesla", 1, False, False),
        ("gpu", "1g.10gb", 0, False, True),
        ("shard", "", 1, False, False),
        ("gpu", "", 2, True, False),
    ]


@pytest.mark.parametrize(
    ("words", "topology"),
    [
        ("CPUs=32", (32, 1, 1)),
        ("CPUs=32 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", (2, 8, 2)),
        ("CPUs=32 CoresPerSocket=8 ThreadsPerCore=2", (2, 8, 2)),
        ("Boards=2 SocketsPerBoard=2 CoresPerSocket=4", (4, 4, 1)),
        ("", (1, 1, 1)),
    ],
)
def test_reads_sockets_and_cores(words: str, topology: tuple[int, int, int]) -> None:
    found = read_topology(slurm(f"NodeName=n {words}\n").nodes[0])
    assert (found.sockets, found.cores_per_socket, found.threads_per_core) == topology


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("60", 60),
        ("1:30", 2),
        ("1:30:00", 90),
        ("2-12", 3600),
        ("1-0:30", 1470),
        ("1-00:00:01", 1441),
        ("infinite", UNLIMITED),
        ("soon", None),
    ],
)
def test_reads_slurms_times(text: str, minutes: int | None) -> None:
    assert parse_minutes(text) == minutes


def test_nodes_that_are_told_the_same_are_one_view() -> None:
    conf = slurm("NodeName=n[1-3] CPUs=4 Gres=gpu:2\nNodeName=n4 CPUs=4 Gres=gpu:2 NodeAddr=x\n")
    lines = gres(
        "NodeName=n[1,4] Name=gpu File=/dev/a[0-1]\nNodeName=n2 Name=gpu File=/dev/a[0-1]\n"
        "NodeName=n3 Name=gpu File=/dev/b[0-1]\nNodeName=n9 Name=gpu File=/dev/a0\n"
    )
    views = build_views(conf, lines)
    assert [view.nodes for view in views.nodes] == [("n1", "n2", "n4"), ("n3",)]
    assert [names for _line, names in views.strangers] == [("n9",)]


@given(st.sets(st.integers(0, 300), min_size=1))
def test_core_numbers_are_read_back(numbers: set[int]) -> None:
    assert expand_cores(fold_numbers(numbers)) == numbers


WORD = st.tuples(
    st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True),
    st.text(
        st.characters(codec="ascii", exclude_characters='"\\\n\r\0', min_codepoint=32), max_size=9
    ),
)


@given(st.lists(WORD, min_size=1, max_size=6))
def test_words_are_read_back_as_they_were_written(words: list[tuple[str, str]]) -> None:
    lines = list(split_lines(render_words(tuple(words)), "f"))
    assert split_words(lines[0].text) == (tuple(words), "")


@given(st.text(max_size=200))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    build_views(slurm(text), gres(text))


@given(
    st.lists(
        st.sampled_from(
            [
                "NodeName=",
                "n[1-",
                "2]",
                " ",
                "Gres=gpu:",
                "1",
                "\\\n",
                "#",
                '"',
                "File=/d[0-3",
                "]",
                ",",
                "Name=gpu",
                "\n",
                "DEFAULT",
                "=",
                "Include",
            ]
        ),
        max_size=30,
    ).map("".join)
)
def test_broken_lines_are_read_without_an_exception(text: str) -> None:
    build_views(slurm(text), gres(text))
