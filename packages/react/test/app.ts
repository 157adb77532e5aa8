/** The page of `e2e/bindings.test.ts`, with React. */
import { createClient } from "@socle/client";
import { live } from "@socle/client/live";
import { createElement as h, type ReactNode, StrictMode, Suspense, useState } from "react";
import { createRoot } from "react-dom/client";
import { useAuth, useLive, useMutation, useQuery } from "../src/index.ts";

const socle = createClient({ live, worker: false, retries: 0 });
const tasks = socle.collection("tasks");

function Tasks(): ReactNode {
  const { items, status } = useLive(tasks.where({ done: false }).orderBy("n"));
  return h(
    "ul",
    { id: "tasks", "data-status": status },
    items.map(({ id, title }) => h("li", { key: id }, String(title))),
  );
}

function Suspended(): ReactNode {
  const { items } = useLive(socle.collection("others").where({ n: 1 }), { suspense: true });
  return h("p", { id: "others" }, `${items.length} others`);
}

function Form(): ReactNode {
  const [create, { status, fields }] = useMutation((title: string) =>
    tasks.create({ title, n: 9, done: false }, { optimistic: true }),
  );
  const send = (): void => void create("new").catch(() => undefined);
  return [
    h("button", { type: "button", key: "create", id: "create", onClick: send }),
    h("output", { key: "state", id: "state" }, fields["title"] ?? status),
  ];
}

function Total(): ReactNode {
  const { data, reload } = useQuery(tasks.limit(1).withTotal());
  return h("button", { type: "button", id: "total", onClick: reload }, data?.total);
}

function Session(): ReactNode {
  const { user, status } = useAuth(socle);
  const login = (): void => void socle.login({ email: "ada@example.com", password: "x" });
  return h("button", { type: "button", id: "user", onClick: login }, user?.email ?? status);
}

function App(): ReactNode {
  const [isShown, show] = useState(true);
  return [
    isShown && h(Tasks, { key: "tasks" }),
    h("button", { type: "button", key: "hide", id: "hide", onClick: () => show(false) }),
    h(Suspense, { key: "others", fallback: h("p", { id: "others" }, "waiting") }, h(Suspended)),
    h(Form, { key: "form" }),
    h(Total, { key: "total" }),
    h(Session, { key: "session" }),
  ];
}

const place = document.querySelector("main");
if (place !== null) createRoot(place).render(h(StrictMode, null, h(App)));
