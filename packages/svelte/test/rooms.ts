/** The page of `e2e/shared-rooms.test.ts`, with Svelte. */
import { createClient } from "@socle/client";
import { live } from "@socle/client/live";
import { mount } from "svelte";
import Rooms from "./rooms.svelte";

const target = document.querySelector("main");
if (target !== null) mount(Rooms, { target, props: { socle: createClient({ live, worker: false }) } });
