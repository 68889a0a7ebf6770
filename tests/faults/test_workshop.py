"""Nothing is lost, whatever happens to the process, its disk and its neighbours."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")


@pytest.fixture(scope="module")
def do(request, tmp_path_factory):
    """Have a job done in the workshop, and give its result."""
    with (tmp_path_factory.mktemp("workshop") / "log").open("w+") as log:
        words = [sys.executable, "-m", "tests.faults.workshop"]
        root = request.config.rootpath
        process = subprocess.Popen(
            words, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )

        def do(job, count, seed=0):
            process.stdin.write(json.dumps({"job": job, "count": count, "seed": seed}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            log.seek(0)
            assert line, f"the workshop has died: {log.read()}"
            answer = json.loads(line)
            assert "error" not in answer, answer["error"]
            return answer["result"]

        yield do
        process.stdin.close()
        process.stdout.close()
        process.wait()


def test_no_ctrl_c_loses_a_model(do, times, tally):
    found = do("interrupts", times(4))
    assert len(found) == 6
    assert [loss for result in found.values() for loss in result["losses"]] == []
    for kind, result in found.items():
        tally(f"Ctrl-C at a random moment: {kind}", sum(result["outcomes"].values()))


def test_a_killed_fit_goes_on_to_the_same_bits(do, times, tally):
    found = do("kills", times(4))
    assert found["resumed"] > 0
    tally("fits killed at a random moment and resumed", found["kills"])


def test_a_killed_save_leaves_a_whole_model(do, times, tally):
    tally("saves killed at a random moment", sum(do("saves", times(20)).values()))


def test_a_full_disk_leaves_what_was_there(do, times, tally):
    tally("writes to a full disk", do("full_disks", times(1)))


def test_a_folder_that_may_not_be_written_is_named(do, times, tally):
    tally("writes to a folder that is read-only", do("closed_folders", times(1)))


def test_processes_share_caches_and_checkpoints(do, times, tally):
    tally("fits that share a cache or a checkpoint folder", do("shared_folders", times(1)))


def test_fits_leave_no_memory_behind(do, times, tally):
    tally("fits without growth of memory", do("growth", times(80))["fits"])


def test_eight_fits_at_once_have_the_bits_of_one_alone(do, times, tally):
    tally("fits in eight threads at once", do("threads", times(1)))


def test_children_fit_as_their_parents_do(do, times, tally):
    tally("fits after fork, spawn and forkserver", sum(do("children", times(1)).values()))
