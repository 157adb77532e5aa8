/** Marks the chips of the grid whose target is deleted while on the screen. Without the mark, a chip would keep its name. */
import type { Event } from "@socle/protocol";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { client } from "../../../service/client.ts";
import { withoutTargets } from "./live-merge.ts";
import { changePages } from "./record-query.ts";
import type { Targets } from "./targets.ts";

/** Deletions within this time are gathered, so that many deletions draw the grid once. */
const pauseMs = 200;

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
