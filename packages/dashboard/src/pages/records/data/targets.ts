/** The targets of the relations of a collection: the field that shows a target, the query of the names, deleted targets. */
import type { CollectionEntry, Event, FieldDefinition } from "@socle/protocol";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { client } from "../../../service/client.ts";
import { nameField } from "../editor/naming.ts";
import { withoutTargets } from "./live-merge.ts";
import { changePages } from "./record-query.ts";

export interface Target {
  readonly collection: string;
  /** The field that names the target; null without such a field: the cell then shows the id. */
  readonly label: string | null;
  /** Whether the relation is multiple. */
  readonly isMultiple: boolean;
}

export type Targets = { readonly [field: string]: Target };

/** The API expands at most this many paths in a query. */
const mostExpanded = 20;

export function targetsOf(fields: readonly FieldDefinition[], collections: readonly CollectionEntry[]): Targets {
  const targets: { [field: string]: Target } = {};
  for (const { name, type, collection, multiple } of fields) {
    const isMultiple = multiple === true;
    if (type !== "relation" || collection === undefined) continue;
    if (collection === "users") {
      targets[name] = { collection, label: "email", isMultiple };
      continue;
    }
    const target = collections.find((each) => each.name === collection);
    targets[name] = {
      collection,
      label: nameField(target?.fields ?? [])?.name ?? null,
      isMultiple,
    };
  }
  return targets;
}

/** The searched fields with snippets in the grid. A field with the name `snippet` would hide the snippets. */
export function snippetsOf(searched: readonly string[], fields: readonly FieldDefinition[]): string | undefined {
  return searched.length === 0 || fields.some(({ name }) => name === "snippet") ? undefined : searched.join(",");
}

/** The `fields` of the grid's query: all fields of the record, and only the label of each target. */
export function selectionOf(fields: readonly FieldDefinition[], targets: Targets): string | undefined {
  if (fields.some(({ name }) => name === "expand")) return undefined;
  const paths = Object.entries(targets)
    .slice(0, mostExpanded)
    // Without a name, the id shows at least whether the record exists.
    .flatMap(([field, { label, isMultiple }]) => [
      `${field}.${label ?? "id"}`,
      // The names of a multiple relation need ids, because names may be equal.
      ...(isMultiple && label !== null ? [`${field}.id`] : []),
    ]);
  return paths.length === 0 ? undefined : ["*", ...paths].join(",");
}

/** Deletions within this time are gathered, so that many deletions draw the grid once. */
const pauseMs = 200;

/** Marks the chips of deleted targets: a visible chip would keep the name of its target until the next read. */
export function useTargetDeletes(collection: string, targets: Targets): void {
  const queryClient = useQueryClient();
  const fields = Object.keys(targets).join(" ");
  const names = [...new Set(Object.values(targets).map((target) => target.collection))].join(" ");
  useEffect(() => {
    let gone = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const apply = (): void => {
      timer = undefined;
      const ids = gone;
      gone = new Set();
      changePages(queryClient, collection, (pages) => withoutTargets(pages, fields.split(" "), ids));
      // The cache of single names, and the controls of the form.
      void queryClient.invalidateQueries({ queryKey: ["labels"] });
      void queryClient.invalidateQueries({ queryKey: ["relation"] });
    };
    const hear = ({ payload }: Event): void => {
      if (typeof payload["id"] !== "string") return;
      gone.add(payload["id"]);
      timer ??= setTimeout(apply, pauseMs);
    };
    const watched = names.split(" ").filter((name) => name !== "" && name !== "users");
    const stops = watched.map((name) => client.subscribe(`${name}.deleted`, hear));
    return () => {
      for (const stop of stops) stop();
      clearTimeout(timer);
    };
  }, [collection, fields, names, queryClient]);
}
