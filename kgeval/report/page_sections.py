"""The sections of the report page: HTML made from the content that `kgeval.report.page_content.page_data` computes.

`kgeval.report.page.write_page` calls `sections`. All text goes through `kgeval.display.html`, which escapes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from kgeval.base.checks import grouped
from kgeval.base.wording import MISSING
from kgeval.data.sides import side_of
from kgeval.display.html import Markup, joined, tag
from kgeval.display.html_tables import short
from kgeval.metrics.grammar import display_of
from kgeval.report import charts, figures
from kgeval.report.page_differences import MAX_NAME, forest, matrix, model_label, p_cell, pair_names
from kgeval.report.page_numbers import (
    Number,
    difference_text,
    is_number,
    percent,
    signed,
    value_text,
    whole,
)
from kgeval.report.page_parts import (
    bar_of,
    block,
    citation,
    difference_cell,
    exact,
    first_section,
    folded,
    heading,
    label,
    limits_of,
    line_list,
    notes,
    number,
    row_head,
    section,
    table,
    ties_cell,
    value_cell,
)
from kgeval.stats.moments import FEW_CLUSTERS

Data = Mapping[str, Any]
N_GAINS, N_CAUTIONS, MAX_FOREST, MAX_DOTS, N_OUTLIERS = 8, 2, 4, 30, 8
MAX_HEAD, MAX_RELATION = 20, 70  # characters of a model in a narrow column, and of a relation beside its bar
MAX_BESIDE = 6  # a matrix of more models stands below the values, not beside them
NO_AUDIT = (
    "These results contain no audit of their dataset: kgeval report ... --dataset FOLDER adds it, and kgeval audit "
    "FOLDER shows it."
)
MIN_POINTS = 3  # smallest number of relations in a chart
COMMON_COLUMNS = ("pattern", "cardinality", "degree_given", "degree_asked")  # shown open; other columns: folded
COLUMN_WORDS = {
    "degree_given": "degree of the given entity",
    "degree_asked": "degree of the asked entity",
    "relation_frequency": "frequency of the relation",
    "known_answers": "number of known answers",
    "leak": "way in which train gives the triple away",
    "half_link": "parts of the triple that train has with its relation",
}


def sections(data: Data, title: str, command: str, version: str, latex: str) -> list[Markup]:
    """Return the sections of the page, in their order.

    Parameters
    ----------
    data : dict
        From `page_data`.
    title : str
        The title of the page, which is its first heading.
    command : str
        The command that makes the page again.
    version : str
        The version of kgeval, for the citation.
    latex : str
        The table of metrics as LaTeX.
    """
    return [
        answer(data, title),
        metrics(data, latex),
        where(data),
        relations(data),
        triples(data),
        distributions(data),
        background(data, command, version),
    ]


# ---- pieces ----


def column_words(column: str) -> str:
    """Return the name of a column in words; the name of a column of the user is not changed.

    Examples
    --------
    >>> column_words("degree_given"), column_words("kind")
    ('degree of the given entity', 'kind')
    """
    return COLUMN_WORDS.get(column, column)


def model_name(data: Data, model: int) -> Markup:
    """Return the name of a model beside its colour."""
    return model_label(data["models"][model], model)


def bare(data: Data, model: int) -> str:
    """Return the name of a model, shortened."""
    return short(data["models"][model], MAX_NAME)


# ---- 1: the answer ----


def answer(data: Data, title: str) -> Markup:
    """Return the verdict, the first metric of each model, the differences, and at most two cautions."""
    cautions = data["cautions"][:N_CAUTIONS]
    is_wide = len(data["models"]) > MAX_BESIDE
    rest = [*data["cautions"][N_CAUTIONS:], *data["tie_notes"]]
    rest += [line.partition(": ")[2] for line in _lines(data) if line.startswith("note: ")]
    return first_section(
        title,
        tag("p", tag("bdi", data["verdict"]["sentence"]), class_=f"verdict {data['verdict']['outcome']}"),
        tag("div", first_values(data), differences(data), class_=f"first{' wide' if is_wide else ''}"),
        notes(cautions, rest),
    )


def _lines(data: Data) -> list[str]:
    """Return the header lines of all models, of each model and of the comparison; equal lines only once."""
    lines = list(data["head"]["common"])
    for name, of_model in zip(data["models"], data["head"]["own"]):
        lines += [line.replace("note: ", f"note: {name}: ", 1) for line in of_model]
    return list(dict.fromkeys([*lines, *((data["comparison"] or {}).get("head", []))]))


def first_values(data: Data) -> Markup:
    """Return the first metric of each model, best first, with its interval."""
    metric, heading, compared = data["verdict"]["metric"], data["verdict"]["heading"], data["comparison"]
    place = next((i for i, one in enumerate(data["metrics"]) if one["key"] == metric), None)
    if place is None:  # a metric that the tables below do not have, such as raw.mrr
        return compared_values(data)
    # The group of each model: both sides; for a model that ranked one side, this side.
    groups: dict[int, Data] = {}
    for group in data["summary"]:
        for row in group["rows"]:
            groups.setdefault(row["model"], group)
    rows = {i: next(row for row in group["rows"] if row["model"] == i) for i, group in groups.items()}
    order = compared["order"] if compared else range(len(data["models"]))
    limits = limits_of([rows[i]["cells"][place] for i in order], [rows[i]["ends"][place] for i in order])
    lines = []
    for i in order:
        cell, ends, chance = rows[i]["cells"][place], rows[i]["ends"][place], _chance(groups[i], i, place)
        notes = [_sides(groups[i])] if len({group["side"] for group in groups.values()}) > 1 else []
        if ends:
            tied = f"{percent(data['tie_rates'][i])} tie: {value_text(ends[0], metric)}"
            notes.append(f"{tied} to {value_text(ends[1], metric)}")
        note = tag("span", "; ".join(notes), class_="ties") if notes else None
        classes = _classes(data, rows[i], place)
        drawn = tag("td", bar_of(cell, limits, chance, ends, i), class_="drawn")
        lines.append(
            tag("tr", row_head(model_name(data, i)), value_cell(cell, metric, classes=classes, note=note), drawn)
        )
    levels = {value_text(_chance(groups[i], i, place), metric) for i in order}
    caption = f"{heading} with {data['confidence']:.0%} intervals (filtered ranks)."
    caption += f" Chance: {min(levels)}." if len(levels) == 1 else ""
    caption += (
        " Thin line: from pessimistic to optimistic ties." if any(row["ends"][place] for row in rows.values()) else ""
    )
    return table(caption, ["model", heading, "interval"], [tag("tbody", *lines)], name="first", numbers=[1])


def compared_values(data: Data) -> Markup:
    """Return a table of the first compared metric of each model, best first, with the values of the comparison."""
    compared, metric, heading = data["comparison"], data["verdict"]["metric"], data["verdict"]["heading"]
    limits = limits_of(compared["values"])
    lines = []
    for i in compared["order"]:
        cell = compared["values"][i]
        classes = "best" if data["models"][i] in data["verdict"]["leaders"][metric] and not data["differences"] else ""
        drawn = tag("td", bar_of(cell, limits, model=i), class_="drawn")
        lines.append(tag("tr", row_head(model_name(data, i)), value_cell([*cell, ""], metric, classes=classes), drawn))
    caption = f"{heading} with {compared['confidence']:.0%} intervals."
    return table(caption, ["model", heading, "interval"], [tag("tbody", *lines)], name="first", numbers=[1])


def _sides(group: Data) -> str:
    """Return the side or sides of a group of the summary in words."""
    return "both sides" if group["side"] == "both" else f"{group['side']} side"


def _chance(group: Data, model: int, place: int) -> Number:
    """Return the chance level of a metric for a model of a group of the summary."""
    rows = group["chance"]
    row = rows[0] if len(rows) == 1 else rows[[row["model"] for row in group["rows"]].index(model)]
    value: Number = row["cells"][place][0]
    return value


def _classes(data: Data, row: Data, place: int) -> str:
    """Return the CSS classes of a value: bold if no model is known to be better, and grey if it is not above chance.

    A bold value can be grey too: if only one of several leaders were bold, it would look like the winner.
    """
    leaders = data["verdict"]["leaders"].get(_key_of(data, row, place), [])
    is_leader = data["models"][row["model"]] in leaders and not data["differences"]
    return " ".join([*(["best"] if is_leader else []), *([] if row["above"][place] else ["grey"])])


def _key_of(data: Data, row: Data, place: int) -> str:
    """Return the key of a cell of the summary, as in a comparison; without prefix for filtered values of both sides."""
    key = data["metrics"][place]["key"]
    parts = [part for part in (row["setting"], row["side"]) if part not in ("filtered", "both")]
    return ".".join([*parts, key])


def differences(data: Data) -> Markup | None:
    """Return the differences of all pairs of models in the first metric: a forest plot, or a matrix for many models."""
    compared = data["comparison"]
    if not compared:
        if len(data["models"]) == 1:
            return None
        text = "The results were not compared, so no difference is tested."
        return tag("p", text, class_="muted")
    metric = data["verdict"]["metric"]
    rows = [row for row in compared["rows"] if row["metric"] == metric]
    if len(data["models"]) > MAX_FOREST:
        caption = (
            f"Differences in {data['verdict']['heading']}, row - column. Bold: significant (Holm); blue: the row is "
            "better, orange: the column is better. Grey: undecided. All intervals are in the table of all tests."
        )
        models = {data["models"][i]: i for i in compared["order"]}
        return matrix(rows, metric, compared["alpha"], caption, models)
    order = [data["models"][i] for i in compared["order"]]
    rows = sorted(rows, key=lambda row: (order.index(row["first"]), order.index(row["second"])))
    caption = (
        f"Differences in {data['verdict']['heading']}. p is corrected by Holm's method, and decides; an interval "
        f"excludes 0 exactly where it does. Vertical line: 0. Bold: significant. Open mark: undecided."
    )
    return forest(rows, metric, compared["alpha"], caption, higher_is_better=data["verdict"]["higher_is_better"])


# ---- 2: metrics ----


def metrics(data: Data, latex: str) -> Markup:
    """Return the table of metrics of filtered ranks; other sides and raw ranks are folded."""
    opened, others = _opened_groups(data)
    compared = data["comparison"]
    bold = "Nothing is bold, since the results are not comparable." if data["differences"] else ""
    if compared and not bold and _has(data, "best"):
        bold = "Bold: the leader and all models that the test cannot tell from it"
        untested = [one["heading"] for one in data["metrics"] if one["key"] not in data["verdict"]["leaders"]]
        bold += f" ({', '.join(untested)}: not tested)." if untested else "."
    grey = "Grey: not above chance." if _has(data, "grey") else ""
    ties = any(row["ends"][0] for group in opened for row in group["rows"])
    purposes = " ".join(f"{text}." for text in data["purposes"])
    intro = [
        bold,
        grey,
        "Thin line: from pessimistic to optimistic ties." if ties else "",
        "Tick: chance, where it is within the drawn range.",
        purposes,
    ]
    return section(
        "metrics",
        "Metrics",
        *(metric_table(data, group, has_bars=True) for group in opened),
        tag("p", " ".join(filter(None, intro)), class_="muted"),
        reasons(data),
        folded("Each side, and raw ranks", *(metric_table(data, group) for group in others)) if others else None,
        folded("This table as LaTeX", block(latex, "latex")),
    )


def _opened_groups(data: Data) -> tuple[list[Data], list[Data]]:
    """Return the groups of the summary that are shown open (enough to show each model), and the other groups."""
    opened: list[Data] = []
    others: list[Data] = []
    seen: set[int] = set()
    for group in data["summary"]:
        models = {row["model"] for row in group["rows"]}
        (opened if models - seen else others).append(group)
        seen |= models
    return opened, others


def _has(data: Data, kind: str) -> bool:
    """Return whether any value of the tables of metrics is ``"best"`` or ``"grey"``."""
    places = range(len(data["metrics"]))
    rows = [row for group in data["summary"] for row in group["rows"]]
    return any(kind in _classes(data, row, place) for row in rows for place in places)


def metric_table(data: Data, group: Data, has_bars: bool = False) -> Markup:
    """Return the metrics of all models in one setting and side."""
    keys = [one["key"] for one in data["metrics"]]
    limits = [
        limits_of([row["cells"][place] for row in group["rows"]], [row["ends"][place] for row in group["rows"]])
        for place in range(len(keys))
    ]
    ns = {row["n"] for row in group["rows"]}
    bodies = []
    for row in group["rows"]:
        cells = []
        for place, key in enumerate(keys):
            cell = row["cells"][place]
            bar = bar_of(cell, limits[place], _chance(group, row["model"], place), row["ends"][place], row["model"])
            cells.append(value_cell(cell, key, bar=bar if has_bars else None, classes=_classes(data, row, place)))
        if has_bars:
            cells.append(ties_cell(data["tie_rates"][row["model"]]))
        if len(ns) > 1:
            cells.append(number(whole(row["n"]), row["n"]))
        bodies.append(tag("tr", row_head(model_name(data, row["model"])), *cells))
    for row in group["chance"]:
        cells = [value_cell(cell, key) for cell, key in zip(row["cells"], keys)]
        cells += [tag("td")] * (has_bars + (len(ns) > 1))
        bodies.append(tag("tr", row_head(row["name"]), *cells, class_="chance"))
    heads = ["model", *(heading(one["heading"], one["higher_is_better"]) for one in data["metrics"])]
    heads += ["ties"] if has_bars else []
    heads += ["ranks"] if len(ns) > 1 else []
    size = f"; {whole(min(ns))} ranks" if len(ns) == 1 else ""
    kind = f"{group['setting'].capitalize()} ranks, {_sides(group)}{size}"
    caption = f"{kind}, realistic ties, {data['confidence']:.0%} intervals"
    name = f"metrics-{group['setting']}-{group['side']}"
    return table(caption, heads, [tag("tbody", *bodies)], name=name, numbers=range(1, len(heads)))


def reasons(data: Data) -> Markup | None:
    """Return a list of the reasons why numbers in the tables of metrics are undefined, each with its first number."""
    found = []
    for group in data["summary"]:
        for row in [*group["rows"], *group["chance"]]:
            where = f"{row['name']} ({group['setting']}, {group['side']})"
            cells = [
                (metric, cell) for metric, cell in zip(data["metrics"], row["cells"]) if cell[3] and len(cell) <= 4
            ]
            found += [(cell[3], f"{metric['heading']} of {where}") for metric, cell in cells]
    items = []
    for reason, places in grouped(found).items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        items.append(tag("li", f"{places[0]}{more}: {reason}"))
    return tag("ul", *items, class_="reasons") if items else None


# ---- 3: where ----


def where(data: Data) -> Markup:
    """Return the relations and groups on which models differ; for one model, those with the best and worst values."""
    compared = data["comparison"]
    if compared and compared["pairs"] and compared["pairs"][0]["relations"]:
        parts = []
        for place, pair in enumerate(compared["pairs"]):
            first, second = (bare(data, pair[name]) for name in ("first", "second"))
            content: list[Any] = [gains(data, pair) if len(pair["relations"]) > 1 else None, group_gaps(data, pair)]
            if place:
                parts.append(folded(f"{first} - {second}", *content))
            else:
                names = [tag("h3", label(first), " - ", label(second))] if len(compared["pairs"]) > 1 else []
                parts += [*names, *content]
        return section("where", "Where they differ", *parts, group_values(data))
    tables = [best_and_worst(data), group_values(data, is_open=True)]
    return section("where", "Where it is best and worst" if len(data["models"]) == 1 else "Groups", *tables)


def gains(data: Data, pair: Data) -> Markup:
    """Return bars for the relations with the largest gains and losses, and for all others together."""
    metric, higher = data["verdict"]["metric"], data["verdict"]["higher_is_better"]
    sign = 1 if higher else -1
    known = [row for row in pair["relations"] if is_number(row["contribution"])]
    won = [row for row in known if sign * row["contribution"] > 0][:N_GAINS]
    lost = [row for row in known if sign * row["contribution"] < 0][:N_GAINS]
    shown = {id(row) for row in (*won, *lost)}
    others = [row for row in known if id(row) not in shown]
    rest = sum(row["contribution"] for row in others)
    total = sum(row["contribution"] for row in known)
    limits = charts.difference_limits([[row["contribution"]] for row in (*won, *lost)] + [[rest]])
    first, second = (bare(data, pair[name]) for name in ("first", "second"))

    def line(name: Any, value: float, cells: Sequence[Any], classes: str | None = None) -> Markup:
        model = pair["first"] if sign * value > 0 else pair["second"]
        text = signed(value, metric, 5)
        drawn = charts.contribution_bar(sign * value, limits, model, title=text)
        return tag("tr", row_head(name), tag("td", drawn, class_="drawn"), number(text, value), *cells, class_=classes)

    def relation(row: Data) -> Markup:
        cell = (row["difference"], row["low"], row["high"])
        cells = [difference_cell(cell, metric, row["decided"]), number(whole(row["n"]), row["n"])]
        flag = tag("strong", "reversed", class_="flag") if row["reversed"] else None
        return line(joined(label(row["relation"], MAX_RELATION), " ", flag), row["contribution"], cells)

    empty = [tag("td"), number(whole(sum(row["n"] for row in others)))]
    bodies = [
        tag("tbody", *map(relation, won)),
        tag("tbody", line(f"the other {len(others)}", rest, empty, "rest")) if others else None,
        tag("tbody", *(relation(row) for row in reversed(lost))),
        tag(
            "tbody",
            tag(
                "tr", row_head(f"all {len(known)}"), tag("td"), number(signed(total, metric, 5), total), tag("td"),
                number(whole(sum(row["n"] for row in known))), class_="total",
            ),
        ),
    ]  # fmt: skip
    axis = tag("span", tag("span", f"{second} better"), tag("span", f"{first} better"), class_="axis")
    caption = (
        f"Relations that move the difference in {data['verdict']['heading']} most, {first} - {second}; contributions "
        f"add up to the difference. {decided_text(len(pair['relations']), 'relations')}"
    )
    heads = ["relation", axis, "contribution", "difference", "ranks"]
    kept = [body for body in bodies if body]
    return table(caption, heads, kept, name=f"gains-{pair['second']}", classes="bars", numbers=[2, 3, 4])


def decided_text(n: int, groups: str) -> str:
    """Return a sentence that explains bold differences of groups.

    Examples
    --------
    >>> decided_text(18, "relations")
    'Bold: decided, with an interval corrected for the 18 relations (Bonferroni) that excludes 0.'
    """
    return f"Bold: decided, with an interval corrected for the {whole(n)} {groups} (Bonferroni) that excludes 0."


def group_gaps(data: Data, pair: Data) -> list[Markup]:
    """Return the differences by pattern, cardinality and degree; a group in which the other model leads is flagged."""
    metric = data["verdict"]["metric"]
    first, second = (bare(data, pair[name]) for name in ("first", "second"))
    open_tables: list[tuple[str, Markup]] = []
    others: list[tuple[str, Markup]] = []
    columns = sorted(pair["groups"], key=lambda name: (*COMMON_COLUMNS, name).index(name))
    for column in columns:
        rows = pair["groups"][column]
        if len(rows) < 2:
            continue
        cells = [(row["difference"], row["low"], row["high"]) for row in rows]
        limits = charts.difference_limits(cells)
        body = []
        for row, cell in zip(rows, cells):
            text = difference_text(cell, metric)[0]
            has_interval = is_number(cell[1]) and is_number(cell[2])
            drawn = charts.difference_bar(cell, limits, text, row["decided"]) if has_interval else None
            flag = tag("strong", "reversed", class_="flag") if row["reversed"] else None
            body.append(
                tag(
                    "tr",
                    row_head(label(row["group"]), " ", flag),
                    tag("td", drawn, class_="drawn"),
                    difference_cell(cell, metric, row["decided"]),
                    number(value_text(row["value_first"], metric), row["value_first"]),
                    number(value_text(row["value_second"], metric), row["value_second"]),
                    number(whole(row["n"]), row["n"]),
                    class_="reversed" if row["reversed"] else None,
                )
            )
        word = column_words(column)
        heads = [word, "interval", "difference", label(first, MAX_HEAD), label(second, MAX_HEAD), "ranks"]
        caption = f"Difference in {data['verdict']['heading']} by {word}, {first} - {second}. "
        caption += f"{decided_text(len(rows), 'groups')} Open mark: undecided."
        made = table(caption, heads, [tag("tbody", *body)], name=f"by-{column}-{pair['second']}", numbers=[2, 3, 4, 5])
        (open_tables if column in COMMON_COLUMNS else others).append((column, made))
    parts = []
    if open_tables:
        parts.append(tag("h3", "By pattern, cardinality and degree"))
        parts.append(tag("div", *(made for _, made in open_tables), class_="pair"))
    if others:
        parts.append(
            folded(f"By {', '.join(column_words(column) for column, _ in others)}", *(made for _, made in others))
        )
    if any(row["reversed"] for rows in pair["groups"].values() for row in rows):
        text = (
            "Reversed: the other model leads in this group; the interval of the difference, corrected for the number "
            "of groups, excludes 0."
        )
        parts.append(tag("p", text, class_="muted"))
    return parts


def best_and_worst(data: Data) -> Markup | None:
    """Return the relations on which the first model is best and worst; all of them if they are few."""
    if len(data["models"]) > 1:
        return None
    found = data["relations"]
    key, higher = found["metrics"][0]["key"], found["metrics"][0]["higher_is_better"]
    cells = [[part[i] for part in found["values"][0][0]] for i in range(len(found["labels"]))]
    known = [i for i, cell in enumerate(cells) if cell[0] is not None]
    known.sort(key=lambda i: cells[i][0], reverse=higher)
    few = len(known) <= MAX_DOTS
    minimum, is_cut = 0, False
    if not few:
        counts = sorted(found["n"][0][i] for i in known)
        minimum = max(10, counts[len(counts) // 4])
        known = [i for i in known if found["n"][0][i] >= minimum]
        is_cut = len(known) > 2 * N_GAINS
        known = known[:N_GAINS] + known[-N_GAINS:] if is_cut else known
    limits = limits_of([cells[i] for i in known])
    rows = [
        tag(
            "tr",
            row_head(label(found["labels"][i], MAX_RELATION)),
            tag("td", bar_of(cells[i], limits), class_="drawn"),
            value_cell(cells[i], key),
            number(whole(found["n"][0][i]), found["n"][0][i]),
        )
        for i in known
    ]
    heading = found["metrics"][0]["heading"]
    if few:
        caption = f"{heading} of each relation, best first"
    elif is_cut:
        caption = (
            f"The {N_GAINS} best and the {N_GAINS} worst relations by {heading}, of those with at least {minimum} ranks"
        )
    else:
        caption = f"{heading} of the relations with at least {minimum} ranks, best first"
    heads = ["relation", "interval", heading, "ranks"]
    return table(caption, heads, [tag("tbody", *rows)], name="best-and-worst", numbers=[2, 3])


def group_values(data: Data, is_open: bool = False) -> list[Markup]:
    """Return all metrics by each column, in tables that are folded."""
    found = data["breakdowns"]
    keys = [metric["key"] for metric in found["metrics"]]
    parts = []
    several = len(data["models"]) > 1
    for place, column in enumerate(found["columns"]):
        bodies = []
        for group_place, group in enumerate(column["groups"]):
            rows = []
            for model, of_model in enumerate(column["models"]):
                if of_model is None or group_place not in of_model["places"]:
                    continue
                i = of_model["places"].index(group_place)
                cells = [value_cell([part[i] for part in values], key) for values, key in zip(of_model["values"], keys)]
                rows.append(
                    tag(
                        "tr",
                        row_head(label(group)),
                        tag("td", model_name(data, model)) if several else None,
                        number(whole(of_model["n"][i]), of_model["n"][i]),
                        number(percent(of_model["share"][i]), of_model["share"][i]),
                        *cells,
                    )
                )
            bodies.append(tag("tbody", *rows))
        word = column_words(column["name"])
        heads = [word, *(["model"] if several else []), "ranks", "share"]
        start = len(heads) - 2
        heads += [metric["heading"] for metric in found["metrics"]]
        caption = f"Metrics by {word} (filtered, all sides, realistic ties)"
        made = table(caption, heads, bodies, name=f"metrics-by-{place}", scrolls=True, numbers=range(start, len(heads)))
        left = [
            f"{whole(one['n_all'] - len(one['groups']))} smaller groups, {percent(one['share_left'])} of the ranks, "
            "are left out."
            for one in column["models"]
            if one and one["n_all"] > len(one["groups"])
        ]
        notes = [tag("p", text, class_="muted left-out") for text in dict.fromkeys(left)]
        title = joined("All metrics by ", label(word))
        parts.append(folded(title, made, *notes, is_open=is_open and place == 0))
    shown, rest = (parts[:1], parts[1:]) if is_open else ([], parts)
    names = ", ".join(column_words(column["name"]) for column in found["columns"][len(shown) :])
    parts = [*shown, *([folded(f"All metrics by {names}", *rest)] if rest else [])]
    notes = [note for note in dict.fromkeys(found["notes"]) if note]
    if parts and len(notes) == 1 and all(found["notes"]):
        parts.append(tag("p", f"{notes[0]}.", class_="muted over-splits"))
    elif parts:
        lines = [f"{name}: {note}." for name, note in zip(data["models"], found["notes"]) if note]
        parts += [tag("p", line, class_="muted over-splits") for line in lines]
    return parts


# ---- 4: relations ----


def relations(data: Data) -> Markup:
    """Return the table of relations, whose rows open, and a chart of them."""
    found = data["relations"]
    labels, n_models = found["labels"], len(data["models"])
    metric = data["verdict"]["metric"]
    keys = [one["key"] for one in found["metrics"]]
    place = keys.index(metric) if metric in keys else 0
    same = all(counts == found["n"][0] for counts in found["n"])
    patterned = len(set(found["patterns"])) > 1
    heads: list[Any] = ["relation", *(["ranks"] if same else [f"ranks, {bare(data, i)}" for i in range(n_models)])]
    heads += ["pattern"] if patterned else []
    first_number = len(heads)
    heads += [model_name(data, i) for i in range(n_models)]
    for pair in found["differences"]:
        prefix = "" if metric in keys else f"{data['verdict']['heading']}: "
        heads.append(joined(prefix, pair_names(data["models"][pair["first"]], data["models"][pair["second"]])))
    bodies = []
    for i, name in enumerate(labels):
        ns = [found["n"][0][i]] if same else [counts[i] for counts in found["n"]]
        cells = [number(whole(n), n) for n in ns]
        cells += [tag("td", found["patterns"][i])] if patterned else []
        for model in range(n_models):
            cells.append(value_cell([part[i] for part in found["values"][model][place]], keys[place]))
        for pair in found["differences"]:
            cell = pair["values"][i]
            cells.append(difference_cell(cell, metric, pair["decided"][i]) if cell else number(MISSING))
        opened = _opened(data, i, len(heads))
        title = tag("details", tag("summary", label(name))) if opened else label(name)
        row = tag("tr", row_head(title), *cells)
        bodies.append(
            tag(
                "tbody",
                row,
                opened,
                data_n=max(ns),
                data_pattern=found["patterns"][i] or None,
                data_sure=_sure(found, i),
            )
        )
    caption = (
        f"{found['metrics'][place]['heading']} of each relation with {data['confidence']:.0%} intervals (filtered, all "
        "sides, realistic ties); click a relation for its other metrics and triples"
    )
    n_compared = len(data["comparison"]["pairs"][0]["relations"]) if found["differences"] else 0
    caption += f". {decided_text(n_compared, 'relations')}" if n_compared else ""
    numbers = [i for i in range(1, len(heads)) if not (patterned and i == first_number - 1)]
    left = found["n_all"] - len(labels)
    return section(
        "relations",
        "Relations",
        _filters(data, patterned),
        tag(
            "p",
            f'{whole(left)} relations with fewer ranks are left out; result.by("relation") returns all.',
            class_="muted",
        )
        if left
        else None,
        table(caption, heads, bodies, name="relations", classes="sortable opens", scrolls=True, numbers=numbers),
        relation_chart(data, place),
    )


def _sure(found: Data, i: int) -> str | None:
    """Return ``"first"`` or ``"second"``, the model of the first pair with the higher value on a relation, or None."""
    pair = found["differences"][0] if found["differences"] else None
    if not pair or not pair["decided"][i]:
        return None
    return "first" if pair["values"][i][0] > 0 else "second"


def _filters(data: Data, patterned: bool) -> Markup:
    """Return the fields that filter the table of relations; hidden until the script runs."""
    found = data["relations"]
    fields = [
        tag("label", "Search ", tag("input", type="search", id="search", autocomplete="off", spellcheck="false")),
        tag(
            "label", "At least ",
            tag("input", type="number", id="least", min=0, value=0, inputmode="numeric", autocomplete="off"), " ranks",
        ),
    ]  # fmt: skip
    if patterned:
        kinds = sorted(set(found["patterns"]))
        options = [tag("option", "all", value=""), *(tag("option", kind or "none", value=kind) for kind in kinds)]
        fields.append(tag("label", "Pattern ", tag("select", *options, id="pattern", autocomplete="off")))
    if found["differences"]:
        pair = found["differences"][0]
        options = [
            tag("option", "all", value=""),
            tag("option", f"{bare(data, pair['first'])} higher", value="first"),
            tag("option", f"{bare(data, pair['second'])} higher", value="second"),
            tag("option", "undecided", value="none"),
        ]
        fields.append(tag("label", "Difference ", tag("select", *options, id="sure", autocomplete="off")))
    status = tag("p", f"{whole(len(found['labels']))} relations", role="status", id="relations-shown", class_="muted")
    return tag("div", *fields, status, class_="controls", hidden=True)


def _opened(data: Data, i: int, width: int) -> Markup | None:
    """Return the row below a relation: all metrics of all models, and its triples."""
    found = data["relations"]
    lines = []
    for model in range(len(data["models"])):
        facts = [
            f"{metric['heading']} {value_text(values[0][i], metric['key'])}"
            for metric, values in zip(found["metrics"], found["values"][model])
        ]
        lines.append(tag("p", label(bare(data, model)), ": ", ", ".join(facts)))
    rows = found["triples"][i]
    if rows:
        compared = data["comparison"]
        names = (
            [bare(data, compared["pairs"][0][name]) for name in ("first", "second")] if compared else [bare(data, 0)]
        )
        what = f"largest disagreements of {names[0]} and {names[1]}" if compared else f"worst ranks of {names[0]}"
        items = [tag("li", _query(row), " ", tag("span", _ranks(row, names), class_="muted")) for row in rows]
        lines += [tag("p", f"Triples: {what}", class_="muted"), tag("ul", *items)]
    return tag("tr", tag("td", tag("div", *lines, class_="opened"), colspan=width), class_="more")


def _ranks(row: Data, names: Sequence[str]) -> str:
    """Return the ranks of a triple under each model, as text."""
    return ", ".join(f"{name}: rank {_rank(rank)}" for name, rank in zip(names, row["ranks"]))


def _rank(rank: Number) -> str:
    return MISSING if rank is None else f"{rank:,.0f}" if float(rank).is_integer() else f"{rank:,.1f}"


def _query(row: Data) -> Markup:
    """Return a triple; the answer (the hidden part of the query) is bold."""
    parts = [label(row["s"]), tag("span", tag("bdi", row["p"]), class_="relation"), label(row["o"])]
    asked = side_of(row["side"]).asked
    parts[asked] = tag("b", parts[asked])
    return tag("span", *parts, class_="query")


def relation_chart(data: Data, place: int) -> Markup | None:
    """Return a chart of the relations: two models against each other, or one model over the number of ranks."""
    found = data["relations"]
    metric = found["metrics"][place]
    key, heading = metric["key"], metric["heading"]
    is_log = display_of(key).unit == "ranks"
    pair = found["differences"][0] if found["differences"] else None
    if pair is None and len(data["models"]) > 1:
        return None
    if pair is None and len(found["labels"]) <= MAX_DOTS:
        return None  # the table of section 3 is a chart of the same numbers
    second, first = (pair["second"], pair["first"]) if pair else (0, 0)
    n = found["n"][first]
    most = max([1, *n])
    y, x = found["values"][first][place][0], found["values"][second][place][0]
    kept = [i for i in range(len(found["labels"])) if x[i] is not None and y[i] is not None and n[i]]
    names = (bare(data, second), bare(data, first))
    if len(kept) < MIN_POINTS:
        return None

    def about(i: int) -> str:
        if not pair:
            return f"{found['labels'][i]}: {heading} {value_text(y[i], key)}, {whole(n[i])} ranks"
        values = f"{value_text(y[i], key)} ({names[1]}), {value_text(x[i], key)} ({names[0]})"
        return f"{found['labels'][i]}: {heading} {values}, {whole(n[i])} ranks"

    if not pair:
        ordered = sorted(range(len(kept)), key=lambda k: y[kept[k]] * math.sqrt(n[kept[k]]), reverse=True)
        points = [(float(n[i]), y[i], n[i] / most, about(i)) for i in kept]
        drawn = charts.counts_scatter(
            points, ("ranks of the relation (log scale)", heading), is_log=is_log, outliers=ordered[:N_OUTLIERS // 2],
            label=f"{heading} of each relation over its number of ranks",
        )  # fmt: skip
        text = f"Each mark is a relation; the table has the same numbers. {heading} of {names[1]}."
        return tag("figure", drawn, tag("figcaption", text), class_="alone")
    gaps = {i: abs(math.log(y[i] / x[i]) if is_log else y[i] - x[i]) * math.sqrt(n[i]) for i in kept}
    ordered = sorted(range(len(kept)), key=lambda k: -gaps[kept[k]])
    points = [(x[i], y[i], n[i] / most, about(i)) for i in kept]
    drawn = charts.scatter(
        points, (f"{heading}, {names[0]}", f"{heading}, {names[1]}"), is_log=is_log,
        higher_is_better=metric["higher_is_better"], outliers=ordered[:N_OUTLIERS],
        decided=[pair["decided"][i] for i in kept],
        label=f"{heading} of each relation: {names[1]} against {names[0]}",
    )  # fmt: skip
    text = (
        f"Each mark is a relation; a larger mark has more ranks. In the shaded half {names[1]} is better. Named: the "
        "largest differences, weighted by the square root of the number of ranks. The table has the same numbers."
    )
    return tag("figure", drawn, tag("figcaption", text), class_="alone")


# ---- 5: triples ----


def triples(data: Data) -> Markup:
    """Return the triples on which two models disagree most, then the hardest triples of each model."""
    parts: list[Any] = []
    compared = data["comparison"]
    rows = compared["pairs"][0]["disagreements"] if compared else None
    if compared and rows:
        pair = compared["pairs"][0]
        names = [bare(data, pair[name]) for name in ("first", "second")]
        lines = [
            tag(
                "tr",
                tag("td", _query(row)),
                tag("td", row["side"]),
                *(number(_rank(rank), rank) for rank in row["ranks"]),
            )
            for row in rows
        ]
        heads = ["triple (asked entity in bold)", "side", *(joined("rank, ", label(name)) for name in names)]
        caption = f"Triples whose ranks differ most between {names[0]} and {names[1]}, by |1/rank - 1/rank|"
        parts.append(table(caption, heads, [tag("tbody", *lines)], name="disagreements", numbers=[2, 3]))
    for model, found in enumerate(data["triples"]):
        name = bare(data, model)
        notes = [tag("p", RIVALS[found["rivals"]], class_="muted rivals")]
        if found["left_out"]:
            text = f"{whole(found['left_out'])} ranks are bounded or unknown, and are not in this table."
            notes.append(tag("p", text, class_="muted"))
        content = [*notes, hardest(f"The worst filtered ranks of {name}", found["hardest"], f"hardest-{model}")]
        is_alone = len(data["models"]) == 1
        parts.append(folded(joined("Hardest triples of ", label(name)), *content, is_open=is_alone))
    return section("triples", "Triples", *parts)


RIVALS = {
    "kept": "The best rivals score above the answer, unless they are marked as tied or below. Known answers are left "
    "out.",
    "not kept": "This result does not contain the rivals. With the dataset and the model, kgeval show --explain lists "
    "the candidates above a triple.",
    "none": "No answer has a rival: all other candidates are known answers.",
}


def hardest(caption: str, rows: Sequence[Data], name: str) -> Markup:
    """Return a table of triples with their ranks and their best rivals."""
    lines = []
    for row in rows:
        items = [
            tag("li", label(rival["label"]), f" {_score(rival['score'])}", _stands(rival), class_=rival["stands"])
            for rival in row["rivals"]
        ]
        rank = f"{_rank(row['rank'])} of {whole(row['of'])}" if row["of"] is not None else _rank(row["rank"])
        lines.append(
            tag(
                "tr",
                number(rank, row["rank"], title=f"{row['tied']} rivals tie" if row["tied"] else None),
                tag("td", _query(row)),
                tag("td", row["side"]),
                number(_score(row["score"]), row["score"] if isinstance(row["score"], float) else None),
                tag("td", tag("ol", *items) if items else MISSING),
            )
        )
    heads = ["rank", "triple (asked entity in bold)", "side", "score", "best rivals"]
    return table(caption, heads, [tag("tbody", *lines)], name=name, numbers=[0, 3])


def _score(score: float | str) -> str:
    return score if isinstance(score, str) else f"{score:.5g}"


def _stands(rival: Data) -> str | None:
    return None if rival["stands"] == "above" else f" ({rival['stands']})"


# ---- 6: distributions ----


def distributions(data: Data) -> Markup:
    """Return the shares of ranks in bins, with ties pale, and hits at every cut-off with bands."""
    found = data["distribution"]
    models = range(len(data["models"]))
    left = [sum(of_model.values()) for of_model in found["left_out"]]
    counts = [[sum(side[i] for side in found["counts"][m].values()) for i in range(len(found["bins"]))] for m in models]
    totals = [sum(counts[m]) + left[m] for m in models]
    limit = max((n / totals[m] for m in models for n in counts[m] if totals[m]), default=1.0)
    tower = [figures.tower(found["tied"][m], totals[m]) for m in models]
    lines = []
    for i, name in enumerate(found["bins"]):
        cells = []
        for m in models:
            share, tied = (n / totals[m] if totals[m] else 0.0 for n in (counts[m][i], found["tied"][m][i]))
            text = f"{bare(data, m)}: {whole(counts[m][i])} ranks in {name}"
            text += f", {whole(found['tied'][m][i])} of them tie" if tied else ""
            mark = tag("strong", "ties", class_="flag") if tower[m] == i else None
            cells += [
                tag("td", charts.share_bar(share, tied, limit, m, text), class_="drawn"),
                tag("td", mark, " ", percent(share), class_="number", data_v=exact(share), title=text),
            ]
        lines.append(tag("tr", row_head(name, class_="number"), *cells))
    if any(left):
        cells = [cell for m in models for cell in (tag("td"), number(percent(left[m] / max(1, totals[m])), left[m]))]
        lines.append(tag("tr", row_head("bounded or unknown"), *cells))
    heads: list[Any] = ["rank"]
    for m in models:
        heads += [model_name(data, m), "share"]
    caption = "Share of ranks in each bin, which widen about as 1, 2, 5, 10 (filtered, all sides, realistic ties)"
    notes = ["A rank between two bins, caused by ties, counts in the lower bin."]
    if any(sum(of_model) for of_model in found["tied"]):
        notes.append(
            "Pale: ranks that tie with a rival; the bin with the most of them is marked, if they are 5% of all."
        )
    text = f"hits@k: share of ranks of at most k, with {data['confidence']:.0%} intervals (filtered, all sides)."
    text += " Where ranks are bounded, the band shows the bounds." if any(data["hits"]["bounds"]) else ""
    numbers = [2 + 2 * m for m in models]
    return section(
        "distributions",
        "Distributions",
        tag(
            "div",
            tag("figure", charts.rank_distribution(data["models"], found, caption), tag("figcaption", " ".join(notes))),
            tag("figure", charts.hits_curve(data["models"], data["hits"], "hits@k"), tag("figcaption", text)),
            class_="beside",
        ),
        folded(
            "Numbers of both figures",
            table(caption, heads, [tag("tbody", *lines)], name="ranks", numbers=[0, *numbers]),
            hits_table(data),
        ),
    )


def hits_table(data: Data) -> Markup:
    """Return hits@k of each model at every cut-off of the curve."""
    hits = data["hits"]
    rows = []
    for i, k in enumerate(hits["k"]):
        cells = []
        for m in range(len(data["models"])):
            cell = [hits[name][m][i] for name in ("values", "low", "high")]
            bounds = [ends[i] for ends in hits["bounds"][m]] if hits["bounds"][m] else []
            cells.append(value_cell([*cell, "", *bounds] if cell[0] is None else cell, "hits@1"))
        rows.append(tag("tr", row_head(whole(k), class_="number"), *cells))
    heads = ["k", *(model_name(data, m) for m in range(len(data["models"])))]
    return table("Values of hits@k", heads, [tag("tbody", *rows)], name="hits", scrolls=True, numbers=range(len(heads)))


# ---- 7: background ----


def background(data: Data, command: str, version: str) -> Markup:
    """Return the last section, with folded parts: protocol, dataset, all tests, glossary, command, citation."""
    parts = [folded("Protocol", protocol_panel(data), id="protocol")]
    parts.append(folded("Dataset", *dataset_panel(data["audit"]), id="dataset"))
    if data["comparison"]:
        parts.append(folded("All tests", *all_tests(data), id="comparison"))
    parts.append(folded("Words", glossary(data), id="glossary"))
    cited = citation(version)
    parts.append(
        folded("Make this page again, and cite", block(command, "command"), block(cited, "bibtex"), id="again")
    )
    return section("background", "Background", *parts)


def protocol_panel(data: Data) -> list[Markup]:
    """Return the part about dataset and protocol: all header lines of the results, except notes."""
    common = [line for line in data["head"]["common"] if not line.startswith("note: ")]
    parts = [line_list(common)]
    for name, lines, scorer in zip(data["models"], data["head"]["own"], data["head"]["scorers"]):
        own = [line for line in lines if not line.startswith("note: ")]
        if own or (scorer and scorer != name):
            parts += [tag("h3", label(name)), line_list([*([f"scorer: {scorer}"] if scorer else []), *own])]
    return parts


def dataset_panel(audit: Data | None) -> list[Markup]:
    """Return the counts of each split, its doubtful rows, and the findings of the audit; or how to get them."""
    if audit is None:
        return [tag("p", NO_AUDIT)]
    names = [
        "split", "triples", "entities", "relations", "duplicate rows", "rows also in another split",
        "triples with unseen labels", "unseen entities", "unseen relations",
    ]  # fmt: skip
    rows = []
    for split in audit["splits"]:
        plain = [split[name] for name in ("triples", "entities", "relations", "duplicates")]
        overlaps = ", ".join(f"{whole(n)} in {name}" for name, n in split["overlaps"]) or MISSING
        unseen = [(split["unseen"] or {}).get(name) for name in ("triples", "entities", "relations")]
        rows.append(
            tag(
                "tr",
                row_head(split["split"]),
                *(number(whole(n), n) for n in plain),
                tag("td", overlaps, class_="number"),
                *(number(whole(n), n) for n in unseen),
            )
        )
    about = tag(
        "p",
        label(audit["dataset"]),
        f": {audit['size']}; fingerprint ",
        tag("code", audit["fingerprint"]),
    )
    lines = [tag("li", text) for text in audit["observations"]]
    observed = tag("ul", *lines, class_="plain") if lines else Markup()
    caption = "Splits of the dataset; unseen: not in train"
    counts = table(caption, names, [tag("tbody", *rows)], name="dataset", numbers=range(1, len(names)))
    return [about, observed, *([counts] if rows else []), findings_table(audit["findings"], audit["is_brief"])]


def findings_table(findings: Sequence[Data], is_brief: bool) -> Markup:
    """Return the findings of the audit, gravest first; `is_brief` says whether they are those of a saved result."""
    rows = [
        tag(
            "tr",
            row_head(found["kind"]),
            tag("td", label(found["relation"]) if found["relation"] else found["split"]),
            number(f"{found['share']:.1%}", found["share"]),
            number(whole(found["count"]), found["count"]),
            tag("td", label(found["example"])),
            tag("td", found["effect"]),
        )
        for found in findings
    ]
    heads = ["finding", "relation or split", "share", "count", "example", "what it does to the numbers"]
    most = "the first finding of a kind and split" if is_brief else "at most eight findings of a kind"
    caption = f"Audit of the dataset, gravest first, {most} (all: kgeval audit)"
    return table(caption, heads, [tag("tbody", *rows)], name="audit", scrolls=True, numbers=(2, 3))


def all_tests(data: Data) -> list[Any]:
    """Return every test of the comparison; numbers that are the same in all rows stand in the caption."""
    compared = data["comparison"]
    rows = compared["rows"]
    ns = {(row["n"], row["n_clusters"]) for row in rows}
    has_sizes = len(ns) > 1 or any((row["n_effective"] or math.inf) < FEW_CLUSTERS for row in rows)
    heads = [
        "metric", "first", "second", "difference", "p", "p (Holm)", "smallest detectable", "wins/ties/losses", "favours"
    ]  # fmt: skip
    heads += ["ranks, clusters"] if has_sizes else []
    bodies: list[Markup] = []
    found: dict[tuple[str, str], list[Data]] = grouped(((row["first"], row["second"]), row) for row in rows)
    for (first, second), of_pair in found.items():
        lines = []
        for row in of_pair:
            metric = row["metric"]
            is_sure = bool(row["better"])
            counts = "/".join(whole(row[name]) for name in ("wins", "ties", "losses"))
            few = (row["n_effective"] or math.inf) < FEW_CLUSTERS
            cells = [
                number(value_text(row["value_first"], metric), row["value_first"]),
                number(value_text(row["value_second"], metric), row["value_second"]),
                difference_cell((row["difference"], row["low"], row["high"]), metric, is_sure),
                p_cell(row["p"], compared["alpha"]),
                p_cell(row["p_corrected"], compared["alpha"]),
                number(difference_text([row["detectable"]], metric)[0].removeprefix("+"), row["detectable"]),
                tag("td", counts, class_="number"),
                tag("td", label(row["better"] or row["decision"], MAX_NAME)),
            ]
            if has_sizes:
                effective = f" ({row['n_effective']:.0f} effective)" if few else ""
                cells.append(number(f"{whole(row['n'])}, {whole(row['n_clusters'])}{effective}", row["n"]))
            lines.append(tag("tr", row_head(display_of(metric).heading), *cells, title=row["reason"] or None))
        pair = tag("tr", tag("th", pair_names(first, second), scope="rowgroup", colspan=len(heads)))
        bodies.append(tag("tbody", pair, *lines))
    size = f" {whole(min(ns)[0])} ranks in {whole(min(ns)[1])} clusters." if len(ns) == 1 else ""
    caption = (
        f"Paired comparison of the models. Smallest detectable: the true difference that the test would find "
        f"about four times in five.{size}"
    )
    why = list(dict.fromkeys(row["reason"] for row in rows if row["reason"]))
    reasons_list = tag("ul", *(tag("li", text) for text in why), class_="reasons") if why else None
    known = {line for line in _lines(data) if line.startswith("note: ")}
    head = [line for line in compared["head"] if line not in known]
    return [
        line_list(head),
        table(caption, heads, bodies, name="tests", numbers=range(1, 8)),
        reasons_list,
    ]


TERMS = (
    ("positive", "A triple that is ranked; it is true."),
    ("query", "A positive with one entity hidden: (s, p, ?) or (?, p, o). The hidden entity is the answer."),
    ("candidates", "The entities that may answer the query."),
    ("rival", "A candidate other than the positive."),
    ("rank", "The place of the positive among the candidates sorted by score; 1 is best."),
    (
        "filtered, raw",
        "Filtered ranks leave out rivals that are known answers, such as triples of train; raw ranks do not.",
    ),
    (
        "ties",
        "A positive ties if a rival has the same score. Realistic: it gets the mean of the ranks that the tied "
        "candidates share. Optimistic: the best of these ranks; pessimistic: the worst. The mean of a metric over ties "
        "broken at random is another policy, expected.",
    ),
    ("chance", "The expected value for a model that orders the same candidates at random."),
    ("reversed", "A group in which the other model leads, with an interval that excludes 0."),
)


def glossary(data: Data) -> Markup:
    """Return the meaning of the words and of the metrics of the page."""
    terms = [
        *TERMS,
        *(
            (metric["heading"], f"{metric['about']} {'Higher' if metric['higher_is_better'] else 'Lower'} is better.")
            for metric in data["metrics"]
        ),
    ]
    return tag("dl", *(joined(tag("dt", term), tag("dd", meaning)) for term, meaning in terms))
