/** The list of `e2e/bindings-pages.test.ts`, with Vue: rendered by Node, and gone on with in a page. */
import type { Socle } from "@socle/client";
import { defineComponent, h, ref, type VNode } from "vue";
import type { Initial } from "../../client/src/testing/initial.ts";
import { useAuth, useLive, useLivePages, useQuery } from "../src/index.ts";

export function appOf(socle: Socle, initial: Initial) {
  return defineComponent(() => {
    const n = ref<number | null>(1);
    const query = () => (n.value === null ? null : socle.collection("tasks").where({ n: n.value }));
    const tasks = useLive(query, { initial: initial.tasks });
    const posts = useLivePages(socle.collection("posts").limit(2), { initial: initial.posts });
    const board = useLive(socle.queries["board"]?.(), { initial: initial.board });
    const { state: total } = useQuery(socle.collection("tasks").limit(1).withTotal(), { initial: initial.total });
    const session = useAuth(socle);
    const set = (to: number | null) => (): void => {
      n.value = to;
    };
    return (): VNode[] => {
      const { items, status, error, retry } = tasks.value;
      const { hasNextPage, isFetchingNextPage, fetchNextPage } = posts.value;
      const label = isFetchingNextPage ? "loading" : hasNextPage ? "more" : "end";
      const known = `${String(board.value.value)} ${total.value.data?.total} ${session.value.user?.email ?? session.value.status}`;
      return [
        h(
          "ul",
          { id: "tasks", "data-status": status },
          items.map(({ id, title }) => h("li", { key: id }, String(title))),
        ),
        h("button", { id: "skip", onClick: set(null) }),
        h("button", { id: "other", onClick: set(2) }),
        h("button", { id: "retry", onClick: retry }, error?.code),
        h(
          "ol",
          { id: "posts" },
          posts.value.items.map(({ id }) => h("li", { key: id }, id)),
        ),
        h("button", { id: "more", onClick: fetchNextPage }, posts.value.error?.code ?? label),
        h("p", { id: "known" }, known),
      ];
    };
  });
}
