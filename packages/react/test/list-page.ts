/** Goes on with the list in a page. */
import { createClient } from "@socle/client";
import { live } from "@socle/client/live";
import { createElement as h } from "react";
import { hydrateRoot } from "react-dom/client";
import { initialOf } from "../../client/src/testing/initial.ts";
import { App } from "./list.ts";

const socle = createClient({ live, worker: false, retries: 0 });
const place = document.querySelector("main");
if (place !== null)
  hydrateRoot(place, h(App, { socle, initial: initialOf("server"), isPage: true }), {
    onRecoverableError: (error) => console.error(`hydration: ${String(error)}`),
  });
