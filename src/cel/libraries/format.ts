// Kubernetes' format library: `format.dns1123Label().validate(x)` tells why a text is no such name.
import { labelValueErrors, qualifiedNameErrors } from '../../apimachinery/labels.ts';
import { hasFormat } from '../../apimachinery/structural/formats.ts';
import { dns1035Label, dnsLabel, dnsSubdomain, type NameRule } from '../../apimachinery/validation/names.ts';
import { parseRequestUrl } from '../../base/request-url.ts';
import { type CelType, listOf, optionalOf, stringType, structType } from '../cel-type.ts';
import type { FunctionDeclaration, Library } from '../declarations.ts';
import { fixed, regexFactor, scaled, traversalFactor } from '../estimate.ts';
import { nominal } from '../library-costs.ts';
import { Opaque, Optional, type Value, ValueList, valueSize } from '../value.ts';

const formatType = structType('kubernetes.NamedFormat');
/** Upstream's bounds for what it cannot see into. */
const longestName = 64;
const longestPattern = 128;

class FormatValue extends Opaque {
  readonly type: CelType = formatType;
  readonly name: string;
  readonly rule: NameRule;
  /** Of the pattern that it stands for. */
  readonly patternSize: number;

  constructor(name: string, rule: NameRule, patternSize: number) {
    super();
    this.name = name;
    this.rule = rule;
    this.patternSize = patternSize;
  }
  equalTo(other: Value): boolean {
    return other instanceof FormatValue && other.name === this.name;
  }
}

/** A dash at the end of a prefix is not the end of the name. */
const asPrefix =
  (rule: NameRule): NameRule =>
  (name) =>
    rule(name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name);
const having =
  (format: string, message: string): NameRule =>
  (text) =>
    hasFormat(text, format) ? [] : [message];
const uri: NameRule = (text) => {
  const url = parseRequestUrl(text);
  return typeof url === 'string' ? [url] : [];
};

const formats: Readonly<Record<string, FormatValue>> = {
  dns1123Label: new FormatValue('DNS1123Label', dnsLabel, 30),
  dns1123Subdomain: new FormatValue('DNS1123Subdomain', dnsSubdomain, 60),
  dns1035Label: new FormatValue('DNS1035Label', dns1035Label, 30),
  qualifiedName: new FormatValue('QualifiedName', qualifiedNameErrors, 60),
  dns1123LabelPrefix: new FormatValue('DNS1123LabelPrefix', asPrefix(dnsLabel), 30),
  dns1123SubdomainPrefix: new FormatValue('DNS1123SubdomainPrefix', asPrefix(dnsSubdomain), 60),
  dns1035LabelPrefix: new FormatValue('DNS1035LabelPrefix', asPrefix(dns1035Label), 30),
  labelValue: new FormatValue('LabelValue', labelValueErrors, 40),
  uri: new FormatValue('URI', uri, 1_103),
  uuid: new FormatValue('uuid', having('uuid', 'does not match the UUID format'), 70),
  byte: new FormatValue('byte', having('byte', 'invalid base64'), 84),
  date: new FormatValue('date', having('date', 'invalid date'), 71),
  datetime: new FormatValue('datetime', having('date-time', 'invalid datetime'), 71),
};

function validate(format: FormatValue, text: string): Value {
  const errors = format.rule(text);
  return errors.length === 0 ? Optional.none : new Optional(new ValueList(errors));
}

const functions: readonly FunctionDeclaration[] = [
  {
    name: 'validate',
    overloads: [
      {
        id: 'format-validate',
        member: true,
        params: [formatType, stringType],
        result: optionalOf(listOf(stringType)),
        call: validate,
      },
    ],
    cost: ([format, text]) => {
      if (!(format instanceof FormatValue)) return undefined;
      const reading = Math.ceil((1 + valueSize(text!)) * traversalFactor);
      return reading * Math.ceil(format.patternSize * regexFactor);
    },
    estimate: ({ args: [text], sizeOf }) =>
      text && { cost: scaled(scaled(sizeOf(text), traversalFactor), longestPattern * regexFactor) },
  },
  {
    name: 'format.named',
    overloads: [
      {
        id: 'format-named',
        params: [stringType],
        result: optionalOf(formatType),
        call: (name: string) => (Object.hasOwn(formats, name) ? new Optional(formats[name]!) : Optional.none),
      },
    ],
    ...nominal,
  },
  ...Object.entries(formats).map(([name, format]) => ({
    name: `format.${name}`,
    overloads: [{ id: `format.${name}`, params: [], result: formatType, call: () => format }],
  })),
];

export const formatLibrary: Library = {
  name: 'kubernetes.format',
  functions,
  equality: {
    [formatType.name]: () => ({ cost: scaled({ ...fixed(1), max: longestName }, traversalFactor) }),
  },
};
