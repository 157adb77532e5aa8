/** The set-up of the backups, as the configuration says, and the last success. */
import type { EffectiveConfig, JsonValue } from "@socle/protocol";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { CodeText, Fact, Facts, Panel, QueryView, RowsSkeleton, WholeTime } from "../../kit/index.ts";
import { overviewQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { cronWords } from "../jobs/cron-words.ts";
import classes from "./backups.module.css";

const words = text.backups;

/** The value of a key of the configuration; null without a value. */
export function settingOf(config: EffectiveConfig | undefined, key: string): JsonValue {
  return config?.keys.find((entry) => entry.key === key)?.value ?? null;
}

function keptText(keep: JsonValue): string {
  const kept = String(keep);
  if (kept === "0") return words.keepAll;
  return /^\d+$/.test(kept) ? words.keepCount(Number(kept)) : words.keepTime(kept);
}

export function SetupPanel({ query }: { query: UseQueryResult<EffectiveConfig> }) {
  const { data: overview } = useQuery(overviewQuery);
  return (
    <Panel title={words.about}>
      <QueryView query={query} skeleton={<RowsSkeleton rows={5} height={24} />}>
        {(config) => {
          const schedule = settingOf(config, "backup.schedule");
          const recipient = settingOf(config, "backup.recipient");
          const { last = null, error = null } = overview?.backup ?? {};
          return (
            <div className={classes["facts"]}>
              <Facts>
                <Fact name={words.last} value={last === null ? text.common.never : <WholeTime at={last} />} />
                <Fact name={words.lastError} value={error} />
                <Fact
                  name={words.schedule}
                  value={
                    schedule === null ? (
                      <CodeText text={words.noSchedule} />
                    ) : (
                      <span title={String(schedule)}>{words.utc(cronWords(String(schedule)))}</span>
                    )
                  }
                />
                <Fact name={words.target} value={String(settingOf(config, "backup.target"))} isMono />
                <Fact name={words.keep} value={keptText(settingOf(config, "backup.keep"))} />
                <Fact
                  name={words.encryption}
                  value={<CodeText text={recipient === null ? words.notEncrypted : words.encrypted} />}
                />
              </Facts>
            </div>
          );
        }}
      </QueryView>
    </Panel>
  );
}
