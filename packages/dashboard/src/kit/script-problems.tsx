/** The files of functions or jobs that do not load: the reason, the place, and the version that runs instead. */
import { Text } from "@mantine/core";
import type { ScriptFileEntry } from "@socle/protocol";
import { text } from "../texts/index.ts";
import { ErrorText } from "./error-text.tsx";
import { TextLink } from "./links.tsx";
import { Notice } from "./notice.tsx";
import classes from "./script-problems.module.css";
import { RelativeTime } from "./time.tsx";

/** The most files in the list; the log names further files. */
const most = 5;

export function ScriptProblems({ files }: { files: readonly ScriptFileEntry[] | undefined }) {
  const broken = (files ?? []).filter(({ problem }) => problem !== null);
  if (broken.length === 0) return null;
  return (
    <Notice tone="bad" radius={0} px="md" py={10} flex="none" title={text.scripts.broken(broken.length)}>
      <ul className={`plain ${classes["list"]}`}>
        {broken.slice(0, most).map(({ filePath, loadedAt, problem }) => (
          <li key={filePath}>
            <strong className="mono">{filePath}</strong>
            <span className="breaks">
              <ErrorText value={problem?.message ?? ""} />
            </span>
            <Text span size="xs" c="dimmed">
              {loadedAt === null ? (
                text.scripts.neverLoaded
              ) : (
                <>
                  {text.scripts.oldRuns} <RelativeTime at={loadedAt} />.
                </>
              )}
            </Text>
          </li>
        ))}
      </ul>
      {broken.length > most && (
        <TextLink to="/logs" search={{ levels: "ERROR" }}>
          {text.scripts.moreBroken(broken.length - most)}
        </TextLink>
      )}
    </Notice>
  );
}
