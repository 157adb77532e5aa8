import { test } from "bun:test";
import { attacks } from "./hostile/attacks.ts";
import { suffer } from "./hostile/suite.ts";
import { quantile } from "./hostile/measure.ts";
const only = process.env.ONLY;
const share = Number(process.env.SHARE ?? 0.1), seconds = Number(process.env.SECONDS ?? 2);
test.each(Object.keys(attacks).filter((n) => !only || n.includes(only)))("%s", async (name) => {
  const o = await suffer(name, { seconds, share, big: Number(process.env.BIG ?? 20), pages: Number(process.env.PAGES ?? 500), recovery: 10 });
  const b = o.bystander;
  console.log(name.padEnd(48), "mem", [o.before, o.peak, o.after].map((s) => s.memory.toFixed(0)).join(" "), "disk", [o.before, o.peak].map((s) => s.disk.toFixed(0)).join(" "), "wal", o.peak.log.toFixed(0), "fd", o.before.descriptors, o.peak.descriptors, o.after.descriptors, "p99 r/w/h", [b.read, b.write, b.health].map((v) => quantile(v, 0.99).toFixed(1)).join(" "), "n", b.read.length, "fail", b.failures.length, b.failures.slice(0, 2).join(), "exit", o.exitCode);
}, 120000);
