/** Commands as somebody can type them into a shell. */
import { isAbsolute, join, relative, resolve, sep } from "node:path";

/** A word of a command, quoted where the shell would take it for something else. */
function shellWord(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** A command with its words. */
export function shellCommand(...words: readonly string[]): string {
  return words.map(shellWord).join(" ");
}

/** How a program that was called as `program` from here is called from another folder. */
export function programFrom(folder: string, program: string): string {
  // A name without a folder is looked up by the shell, wherever one is.
  if (!program.includes(sep) || isAbsolute(program)) return program;
  const path = relative(resolve(folder), resolve(program));
  return path.startsWith("..") ? path : `.${sep}${join(path)}`;
}
