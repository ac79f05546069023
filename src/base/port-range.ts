// A range of ports as flags of Kubernetes write it: `80`, `30000-32767`, `30000+100`.

export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** Where nodes of Kubernetes have the ports of Services, unless somebody says otherwise. */
export const usualNodePorts: PortRange = { first: 30_000, last: 32_767 };

const largest = 65_535;

/** The range, or why a text is none, as upstream's flag says it. */
export function parsePortRange(text: string): PortRange | string {
  const value = text.trim();
  const [, low = '', notation = '', high = ''] = /^([^-+]*)([-+]?)(.*)$/s.exec(value) ?? [];
  if (/[-+]/.test(high)) return `unable to parse port range: ${value}`;
  for (const number of notation === '' ? [low] : [low, high])
    if (!/^[0-9]{1,9}$/.test(number))
      return `strconv.Atoi: parsing ${JSON.stringify(number)}: invalid syntax`;
  const first = Number(low);
  const last = notation === '' ? first : notation === '-' ? Number(high) : first + Number(high);
  if (first > largest || last > largest) return `the port range cannot be greater than ${largest}: ${value}`;
  if (last < first) return `end port cannot be less than start port: ${value}`;
  return { first, last };
}
