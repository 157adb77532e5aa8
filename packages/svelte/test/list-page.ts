/** Goes on with the list in a page. */
import { createClient } from "@socle/client";
import { live } from "@socle/client/live";
import { hydrate } from "svelte";
import { initialOf } from "../../client/src/testing/initial.ts";
import List from "./list.svelte";

const target = document.querySelector("main");
const socle = createClient({ live, worker: false, retries: 0 });
if (target !== null) hydrate(List, { target, props: { socle, initial: initialOf("server") } });
