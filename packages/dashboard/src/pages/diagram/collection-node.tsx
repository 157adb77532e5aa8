/** A collection in the diagram: its name, which opens the collection, and its fields. */

import { Link } from "@tanstack/react-router";
import { Handle, type Node, type NodeProps, Position, useReactFlow } from "@xyflow/react";
import { memo } from "react";
import { TypeIcon } from "../../kit/type-icon.tsx";
import { text } from "../../texts/index.ts";
import classes from "./diagram.module.css";
import type { GraphNode } from "./graph.ts";

export type CollectionNodeType = Node<{ node: GraphNode; isDimmed: boolean; isFound: boolean }, "collection">;

const words = text.diagram;

export const CollectionNode = memo(function CollectionNode({ data }: NodeProps<CollectionNodeType>) {
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
      {isUsers ? (
        <Link to="/users" {...head}>
          {name}
        </Link>
      ) : (
        <Link to="/collections/$name" params={{ name }} {...head}>
          {name}
        </Link>
      )}
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
