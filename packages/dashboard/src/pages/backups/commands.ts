/** The commands that restore and verify a backup, for a shell. */
import { shellWord } from "../records/snippets/requests.ts";

/** Whether only the holder of a key can open a backup. */
export function isEncrypted(name: string): boolean {
  return name.endsWith(".age");
}

/** @param place the folder or the bucket of the backups. */
export function addressOf(place: string, name: string): string {
  return `${place.replace(/\/+$/, "")}/${name}`;
}

function word(text: string): string {
  return /^[\w./:@+-]+$/.test(text) ? text : shellWord(text);
}

export function verifyCommand(address: string): string {
  return `socle verify ${word(address)}${isEncrypted(address) ? " --identity KEY" : ""}`;
}

/** @param moment of a continuous backup, in RFC 3339; empty for the newest state. */
export function restoreCommands(address: string, { moment = "", needsKey = isEncrypted(address) } = {}) {
  const at = moment === "" ? "" : ` --at ${moment}`;
  const command = `socle restore ${word(address)}${at}${needsKey ? " --identity KEY" : ""}`;
  return { beside: `mkdir restored && cd restored\n${command}\nsocle serve`, here: `${command} --force` };
}
