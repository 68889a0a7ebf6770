"""Three million flights of the first half of 2001, with the airports' coordinates."""

from ._dataset import Dataset, make_loader

load_flights_2001 = make_loader(
    Dataset(
        name="flights_2001",
        title="Flights in the USA in the first half of 2001, 3,000,000 rows",
        text="Every row is a flight that arrived. They are sorted by date: shuffle before\n"
        "splitting.",
        columns={
            "Month": "1 to 7; the last flights are of the first of July",
            "DayofMonth": "from 1",
            "DayOfWeek": "from 1 (Monday) to 7 (Sunday)",
            "DepTime": "local time of departure, minutes after midnight",
            "Distance": "miles flown",
            "OriginLat": "latitude of the airport of departure, degrees",
            "OriginLon": "longitude of the airport of departure, degrees",
            "DestLat": "latitude of the airport of arrival, degrees",
            "DestLon": "longitude of the airport of arrival, degrees",
        },
        target="ArrDelay",
        target_text="the delay on arrival in minutes; negative when early.",
        origin="Source: flights-3m and airports of vega-datasets 3.2.1 (BSD-3), which come from\n"
        "the Bureau of Transportation Statistics of the USA.",
        home_file="flights/flights_2001h1_3m_9feat.parquet",
        hint="It is made from flights-3m.parquet of the JavaScript package vega-datasets 3.2.1, "
        "joined with the coordinates in its airports.csv",
        exact=True,  # as floats it would take four times the memory
    )
)
