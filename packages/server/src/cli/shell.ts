/** Commands that a person can type into a shell. */
import { isAbsolute, join, relative, resolve, sep } from "node:path";

/** A word of a command, quoted if the shell would read the word otherwise. */
function shellWord(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** A command with its words. */
export function shellCommand(...words: readonly string[]): string {
  return words.map(shellWord).join(" ");
}

/** How a program that was called as `program` from here is called from another folder. */
export function programFrom(folder: string, program: string): string {
  // The shell looks up a name without a folder, from any folder.
  if (!program.includes(sep) || isAbsolute(program)) return program;
  const path = relative(resolve(folder), resolve(program));
  return path.startsWith("..") ? path : `.${sep}${join(path)}`;
}
