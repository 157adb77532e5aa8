/** Drawer of a socket: the caller, the client, and each channel, live query and room. */
import { Stack } from "@mantine/core";
import type { SocketEntry } from "@socle/protocol";
import type { ReactNode } from "react";
import { DetailsSection, Dim, Fact, Facts, formatBytes, UserLink, WholeTime } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";

/** The words for the caller of a socket. */
export function callerOf({ email, userId, isKey }: SocketEntry): string {
  return email ?? userId ?? (isKey ? text.sockets.key : text.sockets.nobody);
}

/** The words for a process, with the instance in a cluster. */
export function placeOf({ instance, process }: Pick<SocketEntry, "instance" | "process">): string {
  return instance === null ? text.sockets.processName(process) : text.sockets.instanceName(instance, process);
}

/** @param props.socket undefined for a socket that was closed. */
export function SocketDetails({ socket }: { socket: SocketEntry | undefined }) {
  if (socket === undefined) return <Dim>{text.sockets.closed}</Dim>;
  const { id, userId, role, isKey, address, openedAt, waiting, channels, queries, rooms } = socket;
  return (
    <>
      <DetailsSection title={text.sockets.about}>
        <Facts>
          <Fact name={text.sockets.user} value={<UserLink id={userId} nobody={callerOf(socket)} />} />
          <Fact name={text.sockets.role} value={role} />
          <Fact name={text.sockets.key} value={isKey && userId !== null ? text.sockets.yes : null} />
          <Fact name={text.sockets.address} value={address} isMono />
          <Fact name={text.sockets.openedAt} value={<WholeTime at={openedAt} />} />
          <Fact name={text.sockets.process} value={placeOf(socket)} />
          <Fact name={text.sockets.waiting} value={formatBytes(waiting)} />
          <Fact name={text.sockets.clientId} value={id} isMono copy={text.sockets.copyClientId} />
        </Facts>
      </DetailsSection>
      <HeldSection title={text.sockets.channels} none={text.sockets.noChannels}>
        {channels.map(({ id: of, channel, filter }) => (
          <Held key={`${channel} ${of ?? ""}`} name={channel} details={filter} />
        ))}
      </HeldSection>
      <HeldSection title={text.sockets.queries} none={text.sockets.noQueries}>
        {queries.map(({ id: of, parameters, ...query }) => (
          <Held key={of} name={query.of} details={parameters} />
        ))}
      </HeldSection>
      <HeldSection title={text.sockets.rooms} none={text.sockets.noRooms}>
        {rooms.map(({ room, key, state }) => (
          <Held key={`${room} ${key}`} name={`${room} ${key}`} details={state} />
        ))}
      </HeldSection>
    </>
  );
}

function HeldSection({ title, none, children }: { title: string; none: string; children: readonly ReactNode[] }) {
  return (
    <DetailsSection title={title}>
      {children.length === 0 ? <Dim>{none}</Dim> : <Stack gap={6}>{children}</Stack>}
    </DetailsSection>
  );
}

function Held({ name, details }: { name: string; details: string | null }) {
  return (
    <div>
      <span className="mono">{name}</span>
      {details !== null && details !== "" && (
        <Dim className="mono" style={{ overflowWrap: "anywhere" }}>
          {details}
        </Dim>
      )}
    </div>
  );
}
