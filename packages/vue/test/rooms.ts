/** The page of `e2e/shared-rooms.test.ts`: a component with `useRoom` of Vue. */
import { createClient } from "@socle/client";
import { live } from "@socle/client/live";
import { createApp, defineComponent, h, ref, type VNode } from "vue";
import { useRoom } from "../src/index.ts";

const socle = createClient({ live, worker: false });

const App = defineComponent(() => {
  const name = ref<string | null>("vue-1");
  const asked = () => (name.value === null ? null : socle.room("lobby", name.value));
  const { room, setState, on } = useRoom(asked, { state: { cursor: "mine" } });
  const heard = ref("");
  on("hi", (payload) => {
    heard.value = String(payload);
  });
  const cursors = () => room.value.members.map(({ state }) => String(state["cursor"])).sort();
  const button = (label: string, onClick: () => void): VNode => h("button", { onClick }, label);
  return (): VNode[] => [
    h("p", `${room.value.status}: ${cursors().join(", ")}`),
    h("p", `heard: ${heard.value}`),
    button("move", () => setState({ cursor: "moved" })),
    button("other", () => {
      name.value = "vue-2";
    }),
    button("none", () => {
      name.value = null;
    }),
  ];
});

createApp(App).mount("main");
