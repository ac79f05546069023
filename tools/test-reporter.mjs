// A node:test reporter that writes one JSON line an event of interest; tools/test.ts adds them up.
export default async function* reporter(source) {
  for await (const { type, data } of source) {
    if (type === 'test:pass' || type === 'test:fail') {
      if (data.nesting === 0 && data.name !== data.file)
        yield `${JSON.stringify({ event: 'took', name: data.name, file: data.file, ms: data.details?.duration_ms ?? 0 })}\n`;
      if (data.details?.type === 'suite' && type === 'test:pass') continue;
      const error = data.details?.error;
      const nested = error?.failureType === 'subtestsFailed';
      if (nested) continue;
      // A file that fails outside any test is reported as a test named after the file.
      yield `${JSON.stringify({
        event:
          data.skip !== undefined && data.skip !== false
            ? 'skip'
            : data.todo
              ? 'skip'
              : type === 'test:pass'
                ? 'pass'
                : 'fail',
        name: data.name,
        file: data.file,
        ms: Math.round(data.details?.duration_ms ?? 0),
        reason: typeof data.skip === 'string' ? data.skip : undefined,
        error: error ? String(error.cause?.stack ?? error.stack ?? error.message ?? error) : undefined,
        fileLevel: data.nesting === 0 && data.name === data.file,
      })}\n`;
    } else if (type === 'test:diagnostic' && data.file !== undefined) {
      yield `${JSON.stringify({ event: 'diagnostic', name: '', file: data.file, text: data.message })}\n`;
    } else if (type === 'test:stderr') {
      yield `${JSON.stringify({ event: 'stderr', file: data.file, text: data.message })}\n`;
    }
  }
}
