"""What kind of structure a drawing has before it: a chain, a ring, a tree or none of these."""

from .structure import Edge, Structure


def joins(structure: Structure, shared: bool) -> list[int]:
    """Positions of the bonds, or of the indices that any other number of cores share."""
    edges = enumerate(structure.edges)
    return [e for e, edge in edges if edge.site is None and (len(edge.vertices) != 2) == shared]


def other_end(edge: Edge, vertex: int) -> int:
    """Return the vertex at the other end of a bond."""
    return edge.vertices[edge.vertices[0] == vertex]


def is_outputs(edge: Edge) -> bool:
    """Whether an edge is the leg of the outputs."""
    return edge.site is not None and edge.name.endswith("outputs")


def legs_at(structure: Structure, vertex: int) -> list[Edge]:
    """Legs of a vertex."""
    own = [structure.edges[e] for e in structure.edges_of[vertex]]
    return [edge for edge in own if edge.site is not None]


def sites_at(structure: Structure, vertex: int) -> list[tuple[int, int]]:
    """Sites that a vertex has legs to."""
    legs = legs_at(structure, vertex)
    return [edge.site for edge in legs if edge.site is not None and not is_outputs(edge)]


def find_chain(structure: Structure) -> tuple[list[int], list[int | None]] | None:
    """Vertices of a chain or ring, and the bonds before, between and after them (if any)."""
    edges = structure.edges
    bonds = [[e for e in own if edges[e].site is None] for own in structure.edges_of]
    if joins(structure, shared=True) or max(map(len, bonds)) > 2:
        return None
    start = next((v for v, own in enumerate(bonds) if len(own) < 2), 0)
    closing = max(bonds[start], key=lambda e: other_end(edges[e], start), default=None)
    order, path = [start], [closing if len(bonds[start]) == 2 else None]
    while True:
        onwards = [e for e in bonds[order[-1]] if e != path[-1]]
        path.append(onwards[0] if onwards else None)
        vertex = other_end(edges[onwards[0]], order[-1]) if onwards else start
        if vertex == start:
            path[0] = path[-1]
            return (order, path) if len(order) == len(bonds) else None
        order.append(vertex)


def find_tree(structure: Structure) -> list[tuple[int, int | None]] | None:
    """Vertices of a tree of bonds, every one after its parent, with the bonds to the parents."""
    edges, bonds = structure.edges, set(joins(structure, shared=False))
    count = len(structure.vertices)
    if len(bonds) != count - 1:
        return None
    root = next((v for v in range(count)[::-1] if not sites_at(structure, v)), 0)
    found: dict[int, int | None] = {root: None}
    queue = [root]
    for vertex in queue:
        for e in structure.edges_of[vertex]:
            if e in bonds and (child := other_end(edges[e], vertex)) not in found:
                found[child] = e
                queue.append(child)
    return list(found.items()) if len(found) == count else None


def shorten(text: str, length: int) -> str:
    """Shorten a text to `length` characters."""
    return text if len(text) <= length else f"{text[: length - 1]}…"
