/**
 * The attacker's process: `bun attacker.ts NAME SECONDS SHARE TARGET`, with the target as JSON. The process prints "started" once
 * the attack runs, and stops when the seconds are over.
 */
import { attacks } from "./attacks.ts";

const [name = "", seconds = "0", share = "1", target = "{}"] = process.argv.slice(2);
const attack = attacks[name];
if (attack === undefined) throw new Error(`There is no attack "${name}"`);
console.log("started");
const signal = AbortSignal.timeout(Number(seconds) * 1_000);
await attack(JSON.parse(target), { signal, share: Number(share) });
process.exit(0);
