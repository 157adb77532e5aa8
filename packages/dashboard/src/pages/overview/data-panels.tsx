/** Panels of stored data: records by collection, bytes on disk, the queue of functions. */
import { VisuallyHidden } from "@mantine/core";
import type { Overview } from "@socle/protocol";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Dim, formatBytes, formatNumber, Panel, TextLink } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import classes from "./overview.module.css";

/** Most collections in the panel: the largest collections. */
const maxCollections = 8;

export function RecordPanel({ collections }: Pick<Overview, "collections">) {
  const largest = [...collections].sort((a, b) => b.records - a.records || a.name.localeCompare(b.name));
  const shown = largest.slice(0, maxCollections);
  const most = Math.max(1, shown[0]?.records ?? 0);
  return (
    <Panel title={text.overview.records}>
      <div className={classes["bars"]}>
        {shown.length === 0 && (
          <Dim size="sm" px="md" pb="md">
            {text.overview.noCollections}
          </Dim>
        )}
        {shown.map(({ name, records }) => (
          <Link key={name} to="/collections/$name" params={{ name }} className={classes["bar"]}>
            <span className="cut">{name}</span>
            <span className="numbers">
              {formatNumber(records)}
              <VisuallyHidden> {text.overview.recordNoun}</VisuallyHidden>
            </span>
            <span className={classes["barTrack"]}>
              <span className={classes["barFill"]} style={{ width: `${(records / most) * 100}%` }} />
            </span>
          </Link>
        ))}
        {largest.length > shown.length && (
          <TextLink to="/collections" px="md" pt={4}>
            {text.overview.moreCollections(largest.length - shown.length)}
          </TextLink>
        )}
      </div>
    </Panel>
  );
}

export function DiskPanel({ database, storage }: Pick<Overview, "database" | "storage">) {
  return (
    <Panel title={text.overview.disk}>
      <dl className={classes["facts"]}>
        <Fact label={text.overview.database} value={formatBytes(database.size)} />
        <Fact label={text.overview.wal} value={formatBytes(database.walSize)} />
        <Fact
          label={<FactLink to="/storage" label={text.overview.files(storage.files)} />}
          value={formatBytes(storage.size)}
        />
        <Fact
          label={text.overview.total}
          value={formatBytes(database.size + database.walSize + storage.size)}
          isStrong
        />
      </dl>
    </Panel>
  );
}

export function QueuePanel({ deliveries }: Pick<Overview, "deliveries">) {
  return (
    <Panel title={text.overview.queue}>
      <dl className={classes["facts"]}>
        {(["waiting", "running", "failed"] as const).map((status) => (
          <Fact
            key={status}
            label={
              <TextLink to="/functions" search={{ tab: "runs", status }} c="inherit">
                {text.overview[status]}
              </TextLink>
            }
            value={formatNumber(deliveries[status])}
            isBad={status === "failed" && deliveries.failed > 0}
          />
        ))}
      </dl>
    </Panel>
  );
}

function FactLink({ to, label }: { to: "/storage"; label: string }) {
  return (
    <TextLink to={to} c="inherit">
      {label}
    </TextLink>
  );
}

function Fact(props: { label: ReactNode; value: string; isStrong?: boolean; isBad?: boolean }) {
  const { label, value, isStrong = false, isBad = false } = props;
  return (
    <div className={classes["fact"]} data-is-strong={isStrong || undefined}>
      <dt>{label}</dt>
      <dd className="numbers" data-is-bad={isBad || undefined}>
        {value}
      </dd>
    </div>
  );
}
