/** The diagram as a table: a row for each relation, and a row for each collection without relations. */
import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Dim } from "../../kit/words.tsx";
import { text } from "../../texts/index.ts";
import classes from "./diagram.module.css";
import { foundIn, type Graph } from "./graph.ts";

const words = text.diagram;

function NodeLink({ name }: { name: string }) {
  return (
    <Anchor
      renderRoot={(props) =>
        name === "users" ? (
          <Link to="/users" {...props} />
        ) : (
          <Link to="/collections/$name" params={{ name }} {...props} />
        )
      }
      size="sm"
      className="mono"
    >
      {name}
    </Anchor>
  );
}

export function RelationTable({ graph, search }: { graph: Graph; search: string }) {
  const found = foundIn(graph, search);
  const nodes = graph.nodes.filter(({ name, isUsers }) => !isUsers && (found === null || found.has(name)));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls is reached by keyboard.
    <section className="fills" aria-label={words.views.table} tabIndex={0}>
      <table className={classes["table"]}>
        <thead>
          <tr>
            <th scope="col">{words.columns.collection}</th>
            <th scope="col">{words.columns.field}</th>
            <th scope="col">{words.columns.target}</th>
            <th scope="col">{words.columns.kind}</th>
          </tr>
        </thead>
        <tbody>
          {nodes.map(({ name }) => {
            const edges = graph.edges.filter(({ from }) => from === name);
            if (edges.length === 0) {
              return (
                <tr key={name}>
                  <th scope="row">
                    <NodeLink name={name} />
                  </th>
                  <td colSpan={3}>
                    <Dim size="sm">{words.noRelations}</Dim>
                  </td>
                </tr>
              );
            }
            return edges.map(({ id, field, to, isRequired }) => (
              <tr key={id}>
                <th scope="row">
                  <NodeLink name={name} />
                </th>
                <td className="mono">{field}</td>
                <td>
                  <NodeLink name={to} />
                </td>
                <td>{isRequired ? words.required : words.optional}</td>
              </tr>
            ));
          })}
        </tbody>
      </table>
    </section>
  );
}
