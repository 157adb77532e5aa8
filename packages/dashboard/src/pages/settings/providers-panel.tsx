/** The providers at which users sign in: the callback address of each, and the keys that a provider still needs. */
import { Box, Text } from "@mantine/core";
import type { ProviderSetup } from "@socle/protocol";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { IconAlertTriangle, IconCircleCheck } from "../../icons/index.ts";
import { CodeText, Dim, Fact, Facts, Mark, Panel, QueryView, RowsSkeleton } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import classes from "./settings.module.css";

const words = text.settings;

const providersQuery = queryOptions({
  queryKey: ["providers"],
  queryFn: () => client.admin.providers(),
  staleTime: 60_000,
});

export function ProvidersPanel() {
  const query = useQuery(providersQuery);
  return (
    <Panel title={words.providers}>
      <QueryView query={query} skeleton={<RowsSkeleton rows={5} height={24} />}>
        {(providers) => (
          <>
            <Configured providers={providers.filter(({ isConfigured }) => isConfigured)} />
            <Others providers={providers.filter(({ isConfigured }) => !isConfigured)} />
          </>
        )}
      </QueryView>
    </Panel>
  );
}

function Configured({ providers }: { providers: readonly ProviderSetup[] }) {
  if (providers.length === 0)
    return (
      <Dim size="sm" px="md" pb="sm">
        {words.noProviders}
      </Dim>
    );
  return (
    <ul className="plain">
      {providers.map((provider) => (
        <ConfiguredProvider key={provider.name} provider={provider} />
      ))}
    </ul>
  );
}

function ConfiguredProvider({ provider }: { provider: ProviderSetup }) {
  const { title, clientId, issuer, callback, missing } = provider;
  const isReady = missing.length === 0;
  return (
    <li className={classes["provider"]}>
      <div className={classes["providerHead"]}>
        <Text size="sm" fw={600} className="breaks">
          {title}
        </Text>
        <Mark tone={isReady ? "good" : "warn"} icon={isReady ? IconCircleCheck : IconAlertTriangle}>
          {isReady ? words.providerReady : words.providerMissing}
        </Mark>
      </div>
      <Facts>
        <Fact name={words.issuer} value={issuer} />
        <Fact name={words.clientId} value={clientId} isMono />
        <Callback address={callback} />
        {!isReady && <Fact name={words.providerMisses} value={missing.join(", ")} isMono />}
      </Facts>
    </li>
  );
}

function Callback({ address }: { address: string | null }) {
  if (address === null) return <Fact name={words.callback} value={<CodeText text={words.noCallback} />} />;
  return <Fact name={words.callback} value={address} isMono copy={text.common.copyValue(address)} />;
}

/** The missing settings of a provider, without the keys that all providers need. */
function settingsOf(name: string, missing: readonly string[]): string[] {
  const start = `auth.providers.${name}.`;
  return missing.filter((key) => key.startsWith(start)).map((key) => key.slice(start.length));
}

/** The presets without a configuration. The address for the provider is known before the provider gives a client. */
function Others({ providers }: { providers: readonly ProviderSetup[] }) {
  const [first] = providers;
  if (first === undefined) return null;
  return (
    <section aria-label={words.otherProviders}>
      <h3 className={classes["group"]}>{words.otherProviders}</h3>
      <Box px="md" py="sm">
        <Facts>
          <Callback address={first.callback} />
          {providers.map(({ name, title, missing }) => (
            <Fact key={name} name={title} value={settingsOf(name, missing).join(", ")} isMono />
          ))}
        </Facts>
        <Dim mt={6}>
          <CodeText text={words.callbackNote} />
        </Dim>
      </Box>
    </section>
  );
}
