/** The list of `e2e/bindings-pages.test.ts`, with React: rendered by Node, and gone on with in a page. */
import type { Socle } from "@socle/client";
import { Component, createElement as h, type ReactNode, StrictMode, Suspense, useState } from "react";
import type { Initial } from "../../client/src/testing/initial.ts";
import { useAuth, useLive, useLivePages, useQuery } from "../src/index.ts";

interface Given {
  readonly socle: Socle;
}

function Tasks({ socle, initial }: Given & { initial: Initial }): ReactNode {
  const [n, setN] = useState<number | null>(1);
  const query = n !== null && socle.collection("tasks").where({ n });
  const { items, status, error, retry } = useLive(query, { initial: initial.tasks });
  const shown = items.map(({ id, title }) => h("li", { key: id }, String(title)));
  return [
    h("ul", { key: "tasks", id: "tasks", "data-status": status }, shown),
    h("button", { type: "button", key: "skip", id: "skip", onClick: () => setN(null) }),
    h("button", { type: "button", key: "other", id: "other", onClick: () => setN(2) }),
    h("button", { type: "button", key: "retry", id: "retry", onClick: retry }, error?.code),
  ];
}

function Posts({ socle, initial }: Given & { initial: Initial }): ReactNode {
  const query = socle.collection("posts").limit(2);
  const { items, hasNextPage, isFetchingNextPage, fetchNextPage, error } = useLivePages(query, {
    initial: initial.posts,
  });
  const label = isFetchingNextPage ? "loading" : hasNextPage ? "more" : "end";
  return [
    h(
      "ol",
      { key: "posts", id: "posts" },
      items.map(({ id }) => h("li", { key: id }, id)),
    ),
    h("button", { type: "button", key: "more", id: "more", onClick: fetchNextPage }, error?.code ?? label),
  ];
}

function Known({ socle, initial }: Given & { initial: Initial }): ReactNode {
  const board = useLive(socle.queries["board"]?.(), { initial: initial.board });
  const { data } = useQuery(socle.collection("tasks").limit(1).withTotal(), { initial: initial.total });
  const { user, status } = useAuth(socle);
  const text = `${String(board.value)} ${data?.total} ${user?.email ?? status}`;
  return h("p", { id: "known" }, text);
}

class Boundary extends Component<{ name: string; children?: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };
  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }
  override render(): ReactNode {
    const { name, children } = this.props;
    const { error } = this.state;
    if (error === null) return children;
    return h("button", { type: "button", id: name, onClick: () => this.setState({ error: null }) }, error.message);
  }
}

function Throwing({ socle, name, suspense }: Given & { name: string; suspense: boolean }): ReactNode {
  const options = suspense ? { suspense } : { throwOnError: true };
  const { items, status } = useLive(socle.collection(name).where({ n: 1 }), options);
  return h("p", { id: name }, `${status} ${items.length}`);
}

/** @param isPage whether the parts that ask for data without a first answer are there. */
export function App({ socle, initial, isPage }: Given & { initial: Initial; isPage: boolean }): ReactNode {
  const [isShown, show] = useState(false);
  const throwing = ["thrown", "suspended"].map((name) =>
    h(
      Boundary,
      { key: name, name },
      h(
        Suspense,
        { fallback: h("p", { id: name }, "waiting") },
        h(Throwing, { socle, name, suspense: name === "suspended" }),
      ),
    ),
  );
  return h(
    StrictMode,
    null,
    h(Tasks, { socle, initial }),
    h(Posts, { socle, initial }),
    h(Known, { socle, initial }),
    h("button", { type: "button", id: "show", onClick: () => show(true) }),
    isPage && isShown && throwing,
  );
}
