/** The page of `e2e/bindings.test.ts`, with Svelte. */
import { createClient } from "@socle/client";
import { live } from "@socle/client/live";
import { mount } from "svelte";
import App from "./app.svelte";

const target = document.querySelector("main");
if (target !== null) mount(App, { target, props: { socle: createClient({ live, worker: false, retries: 0 }) } });
