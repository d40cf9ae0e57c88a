/** The layout of boxes and edges: layers from top to bottom, by dagre. */

import { layout as dagre, Graph } from "@dagrejs/dagre";

export interface Box {
  id: string;
  width: number;
  height: number;
  /** The id of the frame around it. */
  parent?: string;
}

export interface Line {
  from: string;
  to: string;
  /** The size of its label. */
  width: number;
  height: number;
}

export interface Plan {
  boxes: Box[];
  lines: Line[];
  /** Frames around boxes, as large as their contents. */
  frames: { id: string; parent?: string }[];
}

export interface Placed {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Layout {
  width: number;
  height: number;
  /** Centers and sizes of boxes and frames, by id. */
  places: Record<string, Placed>;
  /** In the order of the plan. */
  lines: { points: { x: number; y: number }[]; x: number; y: number }[];
}

/** Boxes from which the faster ranker is used. */
const LARGE = 80;

export function layout(plan: Plan): Layout {
  const graph = new Graph({ directed: true, compound: true, multigraph: true });
  // network-simplex ranks better, and takes twice as long for a large graph.
  const ranker = plan.boxes.length > LARGE ? "tight-tree" : "network-simplex";
  graph.setGraph({
    rankdir: "TB",
    nodesep: 22,
    edgesep: 12,
    ranksep: 26,
    marginx: 8,
    marginy: 8,
    ranker,
  });
  for (const { id } of plan.frames) graph.setNode(id, {});
  for (const { id, width, height } of plan.boxes) graph.setNode(id, { width, height });
  for (const { id, parent } of [...plan.frames, ...plan.boxes]) {
    if (parent) graph.setParent(id, parent);
  }
  plan.lines.forEach(({ from, to, width, height }, i) => {
    graph.setEdge(from, to, { width, height, labelpos: "c" }, String(i));
  });
  dagre(graph);
  const places: Record<string, Placed> = {};
  for (const { id } of [...plan.frames, ...plan.boxes]) {
    const { x = 0, y = 0, width = 0, height = 0 } = graph.node(id) as Partial<Placed>;
    places[id] = { x, y, width, height };
  }
  const lines = plan.lines.map(({ from, to }, i) => {
    const found = graph.edge({ v: from, w: to, name: String(i) }) as Partial<Layout["lines"][0]>;
    return { points: found.points ?? [], x: found.x ?? 0, y: found.y ?? 0 };
  });
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return { width, height, places, lines };
}
