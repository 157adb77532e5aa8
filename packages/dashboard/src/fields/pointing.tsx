/** The field types whose value is the id of something else: relations show the target by its name, files their thumbnail. */
import { VisuallyHidden } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import {
  IconFile,
  IconFileMusic,
  IconFileText,
  IconFileTypePdf,
  IconLink,
  IconMovie,
  IconPhoto,
  IconUnlink,
} from "../icons/index.ts";
import { nameOfUser, usePicture, visible } from "../kit/index.ts";
import { preloadable } from "../kit/preloadable.tsx";
import { expanded, shownText } from "../pages/records/data/rows.ts";
import type { Target } from "../pages/records/data/targets.ts";
import { RecordLink } from "../pages/records/record-link.tsx";
import { fileQuery } from "../pages/storage/queries.ts";
import { client } from "../service/client.ts";
import { isGone } from "../service/refusals.ts";
import { text } from "../texts/index.ts";
import classes from "./cell.module.css";
import {
  type CellProps,
  callerEmail,
  callerId,
  type FieldKind,
  noValue,
  nullness,
  readTrimmed,
  words,
} from "./kind.ts";

function RelationCell({ row, column, value }: CellProps) {
  const { target } = column;
  const id = String(value);
  if (target === undefined) return <span className={`cut ${classes["text"]}`}>{id}</span>;
  // In a multiple relation, `expand` lacks deleted records: the chip of a missing record asks for the record.
  const found = expanded(row.record, column.name, id);
  if (found === null) return <BrokenChip id={id} />;
  if (target.label === null) return <Chip target={target} id={id} name="" />;
  if (found === undefined) return <LateChip target={target} label={target.label} id={id} />;
  const name = found[target.label];
  return <Chip target={target} id={id} name={typeof name === "string" ? name : ""} />;
}

function shortId(id: string): string {
  return `…${id.slice(-8)}`;
}

/** A live change brings only the id: the chip reads the name. */
function LateChip({ target, label, id }: { target: Target; label: string; id: string }) {
  const { data, error } = useQuery({
    queryKey: ["labels", target.collection, id, label],
    queryFn: async () => {
      if (target.collection === "users") return nameOfUser(await client.admin.users.get(id));
      const record = await client.collection(target.collection).get(id, { fields: label });
      return String(record[label] ?? "");
    },
    retry: false,
    staleTime: 60_000,
  });
  if (isGone(error)) return <BrokenChip id={id} />;
  return <Chip target={target} id={id} name={data ?? ""} />;
}

/** The target by its name, or by the end of its id when the name is empty. */
function Chip({ target, id, name }: { target: Target; id: string; name: string }) {
  const shown = name === "" ? shortId(id) : shownText(name);
  return (
    <RecordLink
      collection={target.collection}
      id={id}
      className={classes["chip"]}
      title={id}
      aria-label={text.records.openTarget(shown)}
      // The grid is a single stop of the Tab key: Ctrl-Enter in the cell follows the link.
      tabIndex={-1}
      data-follow
    >
      <span className="cut">{shown}</span>
    </RecordLink>
  );
}

/** A deleted record, which has no link. */
function BrokenChip({ id }: { id: string }) {
  return (
    <span className={classes["chip"]} data-is-broken title={`${text.records.brokenTarget} ${id}`}>
      <IconUnlink size={13} aria-hidden />
      <span className="cut">{shortId(id)}</span>
      <VisuallyHidden>{text.records.brokenTarget}</VisuallyHidden>
    </span>
  );
}

export const relationKind: FieldKind = {
  icon: IconLink,
  words: words("relation"),
  width: 176,
  isInline: true,
  operators: ["=", "!=", "in", ...nullness],
  completions: ["=", "!=", "in"],
  values: [callerId, noValue],
  read: (typed) => (typed === "@user.id" ? { type: "macro", name: typed } : readTrimmed(typed)),
  firstDefault: "@user.id",
  isDefault: () => true,
  Cell: RelationCell,
  control: preloadable(
    async () => (await import("../pages/records/editor/controls/relation-control.tsx")).RelationControl,
  ),
};

/** A cell reads its file after this time on the screen: a fast scroll sends no requests. */
const standingMs = 150;

function iconOf(mimeType: string) {
  if (mimeType.startsWith("image/")) return IconPhoto;
  if (mimeType.startsWith("video/")) return IconMovie;
  if (mimeType.startsWith("audio/")) return IconFileMusic;
  if (mimeType === "application/pdf") return IconFileTypePdf;
  return mimeType.startsWith("text/") ? IconFileText : IconFile;
}

function FileCell({ value }: CellProps) {
  const id = String(value);
  const [isStanding, setStanding] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setStanding(true), standingMs);
    return () => clearTimeout(timer);
  }, []);
  const { data: file } = useQuery({ ...fileQuery(id), enabled: isStanding, staleTime: 300_000 });
  const { url } = usePicture(file, "64x64");
  const Icon = iconOf(file?.mimeType ?? "");
  return (
    <span className={`inline ${classes["file"]}`} title={id}>
      {url === null ? (
        <span className={classes["icon"]}>
          <Icon size={16} stroke={1.6} aria-hidden />
        </span>
      ) : (
        <img className={classes["thumb"]} src={url} alt="" decoding="async" />
      )}
      <span className={`cut ${classes["text"]}`}>{visible(file?.filename ?? `…${id.slice(-8)}`)}</span>
    </span>
  );
}

export const fileKind: FieldKind = {
  icon: IconFile,
  words: words("file"),
  width: 184,
  operators: ["=", "!=", ...nullness],
  completions: ["=", "!=", "in"],
  values: [noValue, callerId, callerEmail],
  read: readTrimmed,
  firstDefault: "",
  isDefault: () => true,
  Cell: FileCell,
  control: preloadable(async () => (await import("../pages/records/editor/controls/file-control.tsx")).FileControl),
};
