/** The drawn diagram. The page loads this file on demand, because the file brings the graph libraries. */
import "@xyflow/react/dist/style.css";
import { Stack, useComputedColorScheme } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import {
  Background,
  type Edge,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Panel,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useNodesState,
  useReactFlow,
} from "@xyflow/react";
import { memo, useEffect, useMemo } from "react";
import { IconMaximize, IconMinus, IconPlus } from "../../icons/index.ts";
import { IconAction, useIsNarrow } from "../../kit/index.ts";
import { TypeIcon } from "../../kit/type-icon.tsx";
import { text } from "../../texts/index.ts";
import classes from "./diagram.module.css";
import { foundIn, type Graph, type GraphNode, heightOf, linkOf, nodeWidth, placesOf } from "./graph.ts";

const words = text.diagram;

/** On a phone the first view shows the middle: the whole diagram would be too small to read. */
const narrowZoom = 0.7;

type CollectionNodeType = Node<{ node: GraphNode; isDimmed: boolean; isFound: boolean }, "collection">;

/** A collection in the diagram: its name, which opens the collection, and its fields. */
const CollectionNode = memo(function CollectionNode({ data }: NodeProps<CollectionNodeType>) {
  const { node, isDimmed, isFound } = data;
  const { name, isUsers, fields, hidden } = node;
  const { fitView } = useReactFlow();
  /** A name that the keyboard reaches comes into view. */
  const reveal = (element: HTMLElement): void => {
    if (element.matches(":focus-visible")) void fitView({ nodes: [{ id: name }], maxZoom: 1, duration: 150 });
  };
  const head = {
    className: `cut ${classes["nodeHead"]} nodrag nopan`,
    "aria-label": words.open(name),
    onFocus: (event: { currentTarget: HTMLElement }) => reveal(event.currentTarget),
  };
  return (
    <div className={classes["node"]} data-dimmed={isDimmed || undefined} data-found={isFound || undefined}>
      <Handle type="target" position={Position.Left} className={classes["handle"]} style={{ top: 19 }} />
      <Link {...linkOf(name)} {...head}>
        {name}
      </Link>
      {isUsers && <div className={classes["row"]}>{words.users}</div>}
      {fields.map((field) => (
        <div key={field.name} className={classes["row"]}>
          <TypeIcon type={field.type} size={14} />
          <span className={`cut ${classes["fieldName"]}`}>{field.name}</span>
          {field.isRequired && (
            <span className={classes["required"]} title={words.required}>
              *
            </span>
          )}
          {field.target !== null && (
            <Handle id={field.name} type="source" position={Position.Right} className={classes["handle"]} />
          )}
        </div>
      ))}
      {hidden > 0 && <div className={classes["row"]}>{words.moreFields(hidden)}</div>}
    </div>
  );
});

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
  const isNarrow = useIsNarrow();
  const { fitView } = useReactFlow();
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
      <Controls />
      <Panel position="top-right" className={`inline ${classes["legend"]}`}>
        <span className={classes["legendLine"]} /> {words.legendRequired}
        <span className={classes["legendLine"]} data-optional /> {words.legendOptional}
      </Panel>
    </ReactFlow>
  );
}

function Controls() {
  const { fitView, zoomIn, zoomOut } = useReactFlow();
  const look = { variant: "default", size: 32, iconSize: 16 } as const;
  return (
    <Panel position="bottom-left">
      <Stack gap={4}>
        <IconAction {...look} icon={IconPlus} label={words.zoomIn} tip={words.zoomIn} onClick={() => zoomIn()} />
        <IconAction {...look} icon={IconMinus} label={words.zoomOut} tip={words.zoomOut} onClick={() => zoomOut()} />
        <IconAction
          {...look}
          icon={IconMaximize}
          label={words.fit}
          tip={words.fit}
          onClick={() => fitView({ padding: 0.1, duration: 200 })}
        />
      </Stack>
    </Panel>
  );
}
