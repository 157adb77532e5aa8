/** The notes of a release: the files with their platforms, how to check a signature, and the version's part of CHANGELOG.md. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../run.ts";
import type { Platform } from "./platforms.ts";

export interface ReleasedFile {
  readonly name: string;
  readonly platform: Platform;
  /** The size of the archive and of the executable in it, in bytes. */
  readonly size: number;
  readonly unpacked: number;
  /** Whether this machine started the executable. */
  readonly isTried: boolean;
}

/** The part of CHANGELOG.md for a version, without the heading. @throws Error for a version without a part. */
export function changesOf(version: string, changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8")): string {
  const parts = changelog.split(/^## /m).slice(1);
  const part = parts.find((each) => new RegExp(`^${version.replaceAll(".", "\\.")}\\b`).test(each));
  if (part === undefined) throw new Error(`CHANGELOG.md has no part "## ${version}"`);
  return part.slice(part.indexOf("\n")).trim();
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;

export function notesOf(version: string, { files, build }: { files: readonly ReleasedFile[]; build: string }): string {
  const rows = files.map(
    ({ name, platform, size, unpacked, isTried }) =>
      `| ${platform.needs} | \`${name}\` | ${megabytes(size)}, unpacked ${megabytes(unpacked)} | ${isTried ? "started and tested" : "made, never started: the machine of the release cannot start it"} |`,
  );
  return `# Socle ${version}

Build ${build}.

| needs | file | size | tried |
| --- | --- | --- | --- |
${rows.join("\n")}

\`SHA256SUMS\` has the sum of each file, and \`SHA256SUMS.sig\` its signature. \`socle upgrade FILE\` and \`install.sh\` check both;
docs/deploying.md says how to check by hand. \`socle-${version}.cdx.json\` lists the parts of an executable (CycloneDX), and
\`LICENCES.txt\` their licences.

${changesOf(version)}
`;
}
