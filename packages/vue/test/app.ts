/** The page of `e2e/bindings.test.ts`, with Vue. */
import { createClient } from "@socle/client";
import { live } from "@socle/client/live";
import { createApp, defineComponent, h, ref, type VNode } from "vue";
import { useAuth, useLive, useMutation, useQuery } from "../src/index.ts";

const socle = createClient({ live, worker: false, retries: 0 });
const tasks = socle.collection("tasks");

const Tasks = defineComponent(() => {
  const found = useLive(() => tasks.where({ done: false }).orderBy("n"));
  return (): VNode =>
    h(
      "ul",
      { id: "tasks", "data-status": found.value.status },
      found.value.items.map(({ id, title }) => h("li", { key: id }, String(title))),
    );
});

const App = defineComponent(() => {
  const isShown = ref(true);
  const others = useLive(socle.collection("others").where({ n: 1 }));
  const { run, state } = useMutation((title: string) =>
    tasks.create({ title, n: 9, done: false }, { optimistic: true }),
  );
  const total = useQuery(tasks.limit(1).withTotal());
  const session = useAuth(socle);
  return (): (VNode | false)[] => [
    isShown.value && h(Tasks),
    h("button", {
      id: "hide",
      onClick: () => {
        isShown.value = false;
      },
    }),
    h("p", { id: "others" }, others.value.status === "loading" ? "waiting" : `${others.value.items.length} others`),
    h("button", { id: "create", onClick: () => void run("new").catch(() => undefined) }),
    h("output", { id: "state" }, state.value.fields["title"] ?? state.value.status),
    h("button", { id: "total", onClick: total.reload }, total.state.value.data?.total),
    h(
      "button",
      { id: "user", onClick: () => void socle.login({ email: "ada@example.com", password: "x" }) },
      session.value.user?.email ?? session.value.status,
    ),
  ];
});

createApp(App).mount("main");
