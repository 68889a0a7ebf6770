"""A piece of natural sound with gaps: training rows around them, test rows inside them."""

from typing import Any, Literal, get_args

from ._dataset import Dataset, Home, bunch, document, read
from ._files import pandas

Subset = Literal["train", "test", "all"]


def _part(name: str) -> Dataset:
    return Dataset(
        name="sound",
        title="Natural sound, 59,309 training and 691 test rows",
        text="Every row is a sample of a recording of 60,000. The test rows are gaps in it, the\n"
        "training rows all others.",
        columns={"x": "position of the sample, 1 to 60,000"},
        target="y",
        target_text="amplitude.",
        origin="Source: A. Wilson and H. Nickisch, Kernel interpolation for scalable structured\n"
        "Gaussian processes (2015), after R. Turner (2010). No licence is stated: for\n"
        "evaluation only, not to be passed on.",
        home_file=f"sound/sound_{name}.csv.gz",
        hint="No licence is stated for this recording, so there is no package and no download; "
        "a comma-separated file with the columns x and y will do",
    )


@document(
    _part("train"),
    files="``sound/sound_train.csv.gz`` and ``sound/sound_test.csv.gz``",
    first='subset : {"train", "test", "all"}, default="train"\n'
    "    The rows around the gaps, those inside of them, or all, ordered by position.\n",
)
def load_sound(
    *,
    subset: Subset = "train",
    return_X_y: bool = False,
    as_frame: bool = True,
    data_home: Home = None,
    download: bool = False,
) -> Any:
    """Load a piece of natural sound with gaps."""
    if subset not in get_args(Subset):
        raise ValueError(f"subset={subset!r} is none of {', '.join(map(repr, get_args(Subset)))}")
    parts = [_part(name) for name in (("train", "test") if subset == "all" else (subset,))]
    frames, sources = zip(*(read(part, data_home, download) for part in parts), strict=True)
    frame = frames[0]
    if len(frames) > 1:
        frame = pandas().concat(frames).sort_values("x", ignore_index=True)
    return bunch(parts[0], frame, " and ".join(sources), return_X_y=return_X_y, as_frame=as_frame)
