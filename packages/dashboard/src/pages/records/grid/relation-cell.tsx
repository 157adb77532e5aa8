/** A relation: the target by its name, and a link to the target. */
import { VisuallyHidden } from "@mantine/core";
import { SocleError } from "@socle/client";
import { IconUnlink } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { client } from "../../../service/client.ts";
import { text } from "../../../texts/index.ts";
import type { PlacedColumn } from "../columns/use-columns.ts";
import { expanded, expandedItem, type Row, shownText } from "../data/rows.ts";
import type { Target } from "../data/targets.ts";
import classes from "./cell.module.css";

export function RelationCell({ row, column, id }: { row: Row; column: PlacedColumn; id: string }) {
  const { target } = column;
  if (target === undefined) return <span className={classes["text"]}>{id}</span>;
  // In a multiple relation, `expand` lacks deleted records: the chip of a missing record asks for the record.
  const found = target.isMultiple ? expandedItem(row.record, column.name, id) : expanded(row.record, column.name);
  if (found === null) return <Chip target={target} id={id} name={shortId(id)} isBroken />;
  if (target.label === null) return <Chip target={target} id={id} name={shortId(id)} />;
  if (found === undefined) return <LateChip target={{ ...target, label: target.label }} id={id} />;
  const name = found[target.label];
  return (
    <Chip target={target} id={id} name={typeof name === "string" && name !== "" ? shownText(name) : shortId(id)} />
  );
}

function shortId(id: string): string {
  return `…${id.slice(-8)}`;
}

/** A live change brings only the id: the chip reads the name. */
function LateChip({ target, id }: { target: Target & { label: string }; id: string }) {
  const { data, error } = useQuery({
    queryKey: ["labels", target.collection, id, target.label],
    queryFn: async () => {
      if (target.collection === "users") return (await client.admin.users.get(id)).email;
      const record = await client.collection(target.collection).get(id, { fields: target.label });
      return String(record[target.label] ?? "");
    },
    retry: false,
    staleTime: 60_000,
  });
  if (error instanceof SocleError && error.status === 404)
    return <Chip target={target} id={id} name={shortId(id)} isBroken />;
  return <Chip target={target} id={id} name={data === undefined || data === "" ? shortId(id) : shownText(data)} />;
}

/** @param props.isBroken whether the record is deleted: the chip has no link then. */
function Chip({
  target,
  id,
  name,
  isBroken = false,
}: {
  target: Target;
  id: string;
  name: string;
  isBroken?: boolean;
}) {
  const content: ReactNode = <span className={classes["chipText"]}>{name}</span>;
  if (isBroken) {
    return (
      <span className={classes["chip"]} data-is-broken title={`${text.records.brokenTarget} ${id}`}>
        <IconUnlink size={13} aria-hidden />
        {content}
        <VisuallyHidden>{text.records.brokenTarget}</VisuallyHidden>
      </span>
    );
  }
  const label = text.records.openTarget(name);
  // The grid is a single stop of the Tab key: Ctrl-Enter in the cell follows the link.
  const shared = { className: classes["chip"], title: id, tabIndex: -1, "aria-label": label, "data-follow": true };
  return target.collection === "users" ? (
    <Link to="/users" search={{ user: id }} {...shared}>
      {content}
    </Link>
  ) : (
    <Link to="/collections/$name" params={{ name: target.collection }} search={{ record: id }} {...shared}>
      {content}
    </Link>
  );
}
