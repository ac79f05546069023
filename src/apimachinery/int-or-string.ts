// Numbers that may be percentages or names: `maxUnavailable: 25%`, `targetPort: http`.

export type IntOrString = number | string;

/** Upstream's GetScaledValueFromIntOrPercent. Throws Error with its message. */
export function scaledValue(value: IntOrString, total: number, roundUp: boolean): number {
  if (typeof value === 'number') return value;
  const percent = percentOf(value);
  const exact = (percent * total) / 100;
  return roundUp ? Math.ceil(exact) : Math.floor(exact);
}

function percentOf(text: string): number {
  if (!text.endsWith('%'))
    throw new Error('invalid value for IntOrString: invalid type: string is not a percentage');
  const digits = text.slice(0, -1);
  if (!/^[+-]?[0-9]+$/.test(digits))
    throw new Error(
      `invalid value for IntOrString: invalid value ${JSON.stringify(text)}: strconv.Atoi: parsing ${JSON.stringify(digits)}: invalid syntax`,
    );
  return Number(digits);
}

/** True for `25%`: upstream's IsValidPercent. */
export const isPercent = (text: string): boolean => /^[0-9]+%$/.test(text);
