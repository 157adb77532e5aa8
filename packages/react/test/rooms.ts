/** The page of `e2e/shared-rooms.test.ts`: a component with `useRoom` of React. */
import { createClient } from "@socle/client";
import { live } from "@socle/client/live";
import { createElement as h, type ReactNode, StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { useRoom } from "../src/index.ts";

const socle = createClient({ live, worker: false });

function Lobby({ name }: { readonly name: string | null }): ReactNode {
  const room = name === null ? null : socle.room("lobby", name);
  const { status, members, setState, on } = useRoom(room, { state: { cursor: "mine" } });
  const [heard, hear] = useState("");
  useEffect(() => on("hi", (payload) => hear(String(payload))), [on]);
  const cursors = members.map(({ state }) => String(state["cursor"])).sort();
  return [
    h("p", { key: "members" }, `${status}: ${cursors.join(", ")}`),
    h("p", { key: "heard" }, `heard: ${heard}`),
    h("button", { key: "move", type: "button", onClick: () => setState({ cursor: "moved" }) }, "move"),
  ];
}

function App(): ReactNode {
  const [name, show] = useState<string | null>("react-1");
  return [
    h(Lobby, { key: "lobby", name }),
    h("button", { key: "other", type: "button", onClick: () => show("react-2") }, "other"),
    h("button", { key: "none", type: "button", onClick: () => show(null) }, "none"),
  ];
}

const place = document.querySelector("main");
if (place !== null) createRoot(place).render(h(StrictMode, null, h(App)));
