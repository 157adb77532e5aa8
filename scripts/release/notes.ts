/** The notes of a release: the files with their platforms, how to check a signature, and the version's part of CHANGELOG.md. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../run.ts";
import type { MadeImage } from "./image.ts";
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

/** The part of the notes about the image, or about the reason for a release without an image. */
function imageNote(image: MadeImage | { readonly reason: string }): string {
  if ("reason" in image) return `This release has no image for containers: ${image.reason}.`;
  const platforms = image.platforms.map(
    ({ name, unpacked, libc }) => `${name} (unpacked ${megabytes(unpacked)}, with glibc ${libc} of Debian)`,
  );
  const lacks = image.lacks.map((reason) => ` The image lacks ${reason}.`);
  return `\`${image.name}\` (${megabytes(image.size)}) is the image for containers: ${platforms.join(" and ")}.${lacks.join("")}
\`docker load\` and \`podman load\` take the file; docs/deploying.md, "Container", says the rest.`;
}

/** The files of deploy/ in a release: templates of a deployment, which need nothing else of the source. */
export const deployFiles = ["socle.service", "compose.yaml", "Caddyfile"];

export interface NotedRelease {
  readonly files: readonly ReleasedFile[];
  readonly build: string;
  readonly image: MadeImage | { readonly reason: string };
}

export function notesOf(version: string, { files, build, image }: NotedRelease): string {
  const rows = files.map(
    ({ name, platform, size, unpacked, isTried }) =>
      `| ${platform.needs} | \`${name}\` | ${megabytes(size)}, unpacked ${megabytes(unpacked)} | ${isTried ? "started and tested" : "made, never started: the machine of the release cannot start it"} |`,
  );
  return `# Socle ${version}

Build ${build}.

| needs | file | size | tried |
| --- | --- | --- | --- |
${rows.join("\n")}

${imageNote(image)}

\`SHA256SUMS\` has the sum of each file, and \`SHA256SUMS.sig\` its signature. \`socle upgrade FILE\` and \`install.sh\` check both;
docs/install.md says how to check by hand. \`socle-${version}.cdx.json\` lists the parts of an executable (CycloneDX), and
\`LICENCES.txt\` their licences. ${deployFiles.map((name) => `\`${name}\``).join(", ")} are templates of a deployment: docs/deploying.md
explains the files.

${changesOf(version)}
`;
}
