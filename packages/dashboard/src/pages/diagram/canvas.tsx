/** The drawn diagram. The page loads this file on demand, because the file brings the graph libraries. */
import "@xyflow/react/dist/style.css";
import { ActionIcon, Stack, Tooltip, useComputedColorScheme } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { IconMaximize, IconMinus, IconPlus } from "@tabler/icons-react";
import {
  Background,
  type Edge,
  MarkerType,
  Panel,
  ReactFlow,
  ReactFlowProvider,
  useNodesState,
  useReactFlow,
} from "@xyflow/react";
import { useEffect, useMemo } from "react";
import { text } from "../../texts/index.ts";
import { CollectionNode, type CollectionNodeType } from "./collection-node.tsx";
import classes from "./diagram.module.css";
import { foundIn, type Graph, heightOf, nodeWidth, placesOf } from "./graph.ts";

const words = text.diagram;

/** On a phone the first view shows the middle: the whole diagram would be too small to read. */
const narrow = "(max-width: 48em)";
const narrowZoom = 0.7;
const nodeTypes = { collection: CollectionNode };

interface CanvasProps {
  graph: Graph;
  search: string;
}

export function Canvas(props: CanvasProps) {
  return (
    <ReactFlowProvider>
      <Flow {...props} />
    </ReactFlowProvider>
  );
}

function nodesOf(graph: Graph): CollectionNodeType[] {
  const places = placesOf(graph);
  return graph.nodes.map((node) => ({
    id: node.name,
    type: "collection",
    position: places.get(node.name) ?? { x: 0, y: 0 },
    width: nodeWidth,
    height: heightOf(node),
    data: { node, isDimmed: false, isFound: false },
  }));
}

function edgesOf(graph: Graph, found: ReadonlySet<string> | null): Edge[] {
  return graph.edges.map(({ id, from, field, to, isRequired }) => {
    const isDimmed = found !== null && !found.has(from) && !found.has(to);
    return {
      id,
      source: from,
      sourceHandle: field,
      target: to,
      label: field,
      type: from === to ? "smoothstep" : "default",
      className: `${classes["edge"]} ${isRequired ? "" : classes["optional"]} ${isDimmed ? classes["edgeDimmed"] : ""}`,
      markerEnd: { type: MarkerType.ArrowClosed, color: "var(--diagram-edge)", width: 16, height: 16 },
    };
  });
}

function Flow({ graph, search }: CanvasProps) {
  const scheme = useComputedColorScheme("light");
  const isNarrow = useMediaQuery(narrow, false, { getInitialValueInEffect: false });
  const { fitView, zoomIn, zoomOut } = useReactFlow();
  const [nodes, setNodes, onNodesChange] = useNodesState<CollectionNodeType>(nodesOf(graph));
  const found = useMemo(() => foundIn(graph, search), [graph, search]);
  const edges = useMemo(() => edgesOf(graph, found), [graph, found]);
  useEffect(() => setNodes(nodesOf(graph)), [graph, setNodes]);
  useEffect(() => {
    setNodes((all) =>
      all.map((node) => {
        const [isDimmed, isFound] = [found !== null && !found.has(node.id), found?.has(node.id) === true];
        if (node.data.isDimmed === isDimmed && node.data.isFound === isFound) return node;
        return { ...node, data: { ...node.data, isDimmed, isFound } };
      }),
    );
    if (found !== null && found.size > 0)
      void fitView({ nodes: [...found].map((id) => ({ id })), maxZoom: 1, padding: 0.2, duration: 200 });
  }, [found, setNodes, fitView]);

  const controls = [
    { label: words.zoomIn, icon: IconPlus, run: () => zoomIn() },
    { label: words.zoomOut, icon: IconMinus, run: () => zoomOut() },
    { label: words.fit, icon: IconMaximize, run: () => fitView({ padding: 0.1, duration: 200 }) },
  ];
  return (
    <ReactFlow
      className={classes["flow"]}
      aria-label={words.canvas}
      nodes={nodes}
      edges={edges}
      onNodesChange={onNodesChange}
      nodeTypes={nodeTypes}
      colorMode={scheme}
      fitView
      fitViewOptions={{ padding: 0.1, maxZoom: 1, ...(isNarrow && { minZoom: narrowZoom }) }}
      minZoom={0.05}
      maxZoom={2}
      nodesConnectable={false}
      nodesFocusable={false}
      edgesFocusable={false}
      elementsSelectable={false}
      onlyRenderVisibleElements={graph.nodes.length > 100}
      deleteKeyCode={null}
      proOptions={{ hideAttribution: false }}
    >
      <Background gap={20} size={1} color="var(--socle-line)" />
      <Panel position="bottom-left">
        <Stack gap={4}>
          {controls.map(({ label, icon: Icon, run }) => (
            <Tooltip key={label} label={label} position="right">
              <ActionIcon variant="default" size={32} aria-label={label} onClick={() => void run()}>
                <Icon size={16} />
              </ActionIcon>
            </Tooltip>
          ))}
        </Stack>
      </Panel>
      <Panel position="top-right" className={`inline ${classes["legend"]}`}>
        <span className={classes["legendLine"]} /> {words.legendRequired}
        <span className={classes["legendLine"]} data-optional /> {words.legendOptional}
      </Panel>
    </ReactFlow>
  );
}
