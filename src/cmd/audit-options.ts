// The audit log: kube-apiserver's options by their names, with its presets.
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AuditLogFormat } from '../apiserver/audit/backend-file.ts';
import type { TruncateOptions } from '../apiserver/audit/backend-truncated.ts';
import { formatGoDuration, parseGoDuration } from '../base/go-duration.ts';
import { switchOption } from './switch-option.ts';
import { whole } from './whole-option.ts';

const modes = ['batch', 'blocking', 'blocking-strict'] as const;
type AuditMode = (typeof modes)[number];
const formats: readonly AuditLogFormat[] = ['json', 'legacy'];

export interface AuditBatchFlags {
  readonly bufferSize: number;
  readonly maxSize: number;
  readonly maxWaitMs: number;
  readonly throttle: { readonly qps: number; readonly burst: number } | undefined;
}

interface AuditPluginFlags {
  readonly mode: AuditMode;
  readonly batch: AuditBatchFlags;
  readonly truncate: TruncateOptions | undefined;
}

export interface AuditFlags {
  readonly policyFile: string | undefined;
  readonly log:
    | (AuditPluginFlags & {
        readonly path: string;
        readonly maxAgeDays: number;
        readonly maxBackups: number;
        readonly maxMegabytes: number;
        readonly format: AuditLogFormat;
        readonly compress: boolean;
      })
    | undefined;
  readonly webhook:
    | (AuditPluginFlags & { readonly configFile: string; readonly initialBackoffMs: number })
    | undefined;
}

type Plugin = 'log' | 'webhook';
interface Presets {
  readonly mode: AuditMode;
  readonly maxSize: number;
  readonly maxWaitMs: number;
  readonly throttle: boolean;
}
const presets: Readonly<Record<Plugin, Presets>> = {
  log: { mode: 'blocking', maxSize: 1, maxWaitMs: 0, throttle: false },
  webhook: { mode: 'batch', maxSize: 400, maxWaitMs: 30_000, throttle: true },
};

const mega = 1024 * 1024;
const presetMaxBatchBytes = 10 * mega;
const presetMaxEventBytes = 100 * 1024;

function amount(text: string): number {
  const value = text === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(value)) throw new InvalidArgumentError('not a number');
  return value;
}

function anyDuration(text: string): number {
  const ms = parseGoDuration(text);
  if (ms === undefined || ms < 0) throw new InvalidArgumentError('not a duration such as 30s');
  return ms;
}

const wholeOption = (flag: string, about: string, preset: number): Option =>
  new Option(`--${flag} <n>`, about).argParser(whole).default(preset);
const waitOption = (flag: string, about: string, presetMs: number): Option =>
  new Option(`--${flag} <duration>`, about)
    .argParser(anyDuration)
    .default(presetMs, formatGoDuration(presetMs));

const pluginOptions = (plugin: Plugin): Option[] => {
  const { mode, maxSize, maxWaitMs, throttle } = presets[plugin];
  const name = (rest: string): string => `audit-${plugin}-${rest}`;
  return [
    new Option(
      `--${name('mode')} <mode>`,
      'batch: requests do not wait; blocking: they wait; blocking-strict: one whose event is not kept is refused',
    ).default(mode),
    wholeOption(name('batch-buffer-size'), 'in mode batch: events that wait; more are lost', 10_000),
    wholeOption(name('batch-max-size'), 'in mode batch: events that go out together', maxSize),
    waitOption(name('batch-max-wait'), 'in mode batch: how long an event waits for others', maxWaitMs),
    switchOption(name('batch-throttle-enable'), 'in mode batch: whether batches are slowed down', throttle),
    new Option(`--${name('batch-throttle-qps')} <n>`, 'in mode batch: batches a second')
      .argParser(amount)
      .default(throttle ? 10 : 0),
    wholeOption(
      name('batch-throttle-burst'),
      'in mode batch: batches at once after a rest',
      throttle ? 15 : 0,
    ),
    switchOption(name('truncate-enabled'), 'whether events and batches that are too large are cut', false),
    wholeOption(
      name('truncate-max-batch-size'),
      'bytes of a batch, of which larger ones are split',
      presetMaxBatchBytes,
    ),
    wholeOption(
      name('truncate-max-event-size'),
      'bytes of an event, of which larger ones lose their objects, or are lost',
      presetMaxEventBytes,
    ),
    new Option(`--${name('version')} <version>`, 'version of the events').default('audit.k8s.io/v1'),
  ];
};

export const withAudit = (command: Command): Command => {
  const options = [
    new Option('--audit-policy-file <file>', 'an audit.k8s.io/v1 Policy: what is written of which request'),
    new Option('--audit-log-path <file>', 'file of audit events; - is standard output'),
    wholeOption('audit-log-maxage', 'days for which old audit files are kept; 0: for good', 366),
    wholeOption('audit-log-maxbackup', 'old audit files that are kept; 0: all', 100),
    wholeOption('audit-log-maxsize', 'megabytes at which a new audit file begins; 0: never', 100),
    new Option('--audit-log-format <format>', `form of audit events: ${formats.join(', ')}`).default('json'),
    switchOption('audit-log-compress', 'compress old audit files', false),
    ...pluginOptions('log'),
    new Option('--audit-webhook-config-file <file>', 'kubeconfig of a server that audit events are sent to'),
    waitOption('audit-webhook-initial-backoff', 'how long to wait before the second try', 10_000),
    new Option('--audit-webhook-batch-initial-backoff <duration>', 'its name of before')
      .argParser(anyDuration)
      .hideHelp(),
    ...pluginOptions('webhook'),
  ];
  return options.reduce((all, option) => all.addOption(option), command);
};

type Values = Readonly<Record<string, unknown>>;

/** Throws with upstream's words for what does not go together. */
export function auditFlagsOf(flags: object): AuditFlags {
  const values = flags as Values;
  const path = values['auditLogPath'] as string | undefined;
  const configFile = values['auditWebhookConfigFile'] as string | undefined;
  return {
    policyFile: values['auditPolicyFile'] as string | undefined,
    log: path ? { ...pluginFlags('log', values), path, ...logFlags(values) } : undefined,
    webhook: configFile
      ? {
          ...pluginFlags('webhook', values),
          configFile,
          initialBackoffMs: (values['auditWebhookBatchInitialBackoff'] ??
            values['auditWebhookInitialBackoff']) as number,
        }
      : undefined,
  };
}

function logFlags(values: Values) {
  const format = values['auditLogFormat'] as AuditLogFormat;
  if (!formats.includes(format))
    throw new Error(`invalid audit log format ${format}, allowed formats are "legacy,json"`);
  for (const name of ['Maxage', 'Maxbackup', 'Maxsize'])
    if ((values[`auditLog${name}`] as number) < 0)
      throw new Error(
        `--audit-log-${name.toLowerCase()} ${values[`auditLog${name}`]} can't be a negative number`,
      );
  return {
    format,
    maxAgeDays: values['auditLogMaxage'] as number,
    maxBackups: values['auditLogMaxbackup'] as number,
    maxMegabytes: values['auditLogMaxsize'] as number,
    compress: values['auditLogCompress'] as boolean,
  };
}

function pluginFlags(plugin: Plugin, values: Values): AuditPluginFlags {
  const prefix = plugin === 'log' ? 'auditLog' : 'auditWebhook';
  const value = (name: string): unknown => values[`${prefix}${name}`];
  const mode = value('Mode') as AuditMode;
  if (!modes.includes(mode))
    throw new Error(`invalid audit ${plugin} mode ${mode}, allowed modes are "${modes.join(',')}"`);
  if (value('Version') !== 'audit.k8s.io/v1')
    throw new Error('invalid group version, allowed versions are ["audit.k8s.io/v1"]');
  const throttled = value('BatchThrottleEnable') as boolean;
  const batch = {
    bufferSize: value('BatchBufferSize') as number,
    maxSize: value('BatchMaxSize') as number,
    maxWaitMs: value('BatchMaxWait') as number,
    throttle: throttled
      ? { qps: value('BatchThrottleQps') as number, burst: value('BatchThrottleBurst') as number }
      : undefined,
  };
  if (mode === 'batch') checkBatch(plugin, batch);
  const truncate = {
    maxBatchBytes: value('TruncateMaxBatchSize') as number,
    maxEventBytes: value('TruncateMaxEventSize') as number,
  };
  checkTruncate(plugin, truncate);
  return { mode, batch, truncate: value('TruncateEnabled') === true ? truncate : undefined };
}

function checkBatch(plugin: Plugin, { bufferSize, maxSize, throttle }: AuditBatchFlags): void {
  const positive = (name: string, value: number): void => {
    if (!(value > 0))
      throw new Error(`invalid audit batch ${plugin} ${name} ${value}, must be a positive number`);
  };
  positive('buffer size', bufferSize);
  positive('max batch size', maxSize);
  if (throttle === undefined) return;
  positive('throttle QPS', throttle.qps);
  positive('throttle burst', throttle.burst);
}

function checkTruncate(plugin: Plugin, { maxBatchBytes, maxEventBytes }: TruncateOptions): void {
  if (maxEventBytes <= 0)
    throw new Error(
      `invalid audit truncate ${plugin} max event size ${maxEventBytes}, must be a positive number`,
    );
  if (maxBatchBytes < maxEventBytes)
    throw new Error(
      `invalid audit truncate ${plugin} max batch size ${maxBatchBytes}, must be greater than max event size (${maxEventBytes})`,
    );
}
