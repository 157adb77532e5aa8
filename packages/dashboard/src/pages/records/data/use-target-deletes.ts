/** Marks the chips of the grid whose target is deleted while on the screen. Without the mark, a chip would keep its name. */
import type { Event } from "@socle/protocol";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { client } from "../../../service/client.ts";
import { withoutTargets } from "./live-merge.ts";
import type { RecordPages } from "./record-query.ts";
import type { Targets } from "./targets.ts";

/** Deletions within this time are gathered, so that many deletions draw the grid once. */
const pauseMs = 200;

export function useTargetDeletes(targets: Targets, queryKey: readonly unknown[]): void {
  const queryClient = useQueryClient();
  const latest = useRef({ targets, queryKey });
  latest.current = { targets, queryKey };
  const names = useMemo(
    () => [...new Set(Object.values(targets).map(({ collection }) => collection))].filter((name) => name !== "users"),
    [targets],
  );
  const key = names.join(" ");
  useEffect(() => {
    if (key === "") return undefined;
    let gone = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const apply = (): void => {
      timer = undefined;
      const ids = gone;
      gone = new Set();
      const fields = Object.keys(latest.current.targets);
      queryClient.setQueryData<RecordPages>(latest.current.queryKey, (pages) =>
        pages === undefined ? pages : { ...pages, pages: withoutTargets(pages.pages, fields, ids) },
      );
      // The cache of single names, and the controls of the form.
      void queryClient.invalidateQueries({ queryKey: ["labels"] });
      void queryClient.invalidateQueries({ queryKey: ["relation"] });
    };
    const hear = ({ type, payload }: Event): void => {
      const id = payload["id"];
      if (!type.endsWith(".deleted") || typeof id !== "string") return;
      gone.add(id);
      timer ??= setTimeout(apply, pauseMs);
    };
    const stops = key.split(" ").map((name) => client.subscribe(`${name}.deleted`, hear));
    return () => {
      for (const stop of stops) stop();
      clearTimeout(timer);
    };
  }, [key, queryClient]);
}
