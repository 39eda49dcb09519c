// A server of a test's own: serve(TOOL, ARGUMENTS, PORT).
// SPDX-License-Identifier: MIT
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import readline from 'node:readline';

export async function serve(tool, args, port = 0) {
  const child = spawn(tool, ['serve', ...args, '--port', String(port)], { stdio: ['ignore', 'ignore', 'pipe'] });
  process.on('exit', () => child.kill('SIGKILL')); // of a test that failed
  const lines = readline.createInterface({ input: child.stderr });
  let said = '';
  for await (const line of lines) {
    said += line;
    const found = / on (http:\/\/[^:]+:(\d+)) /.exec(line);
    if (found) {
      const end = async () => { child.kill('SIGTERM'); if (child.exitCode === null) await once(child, 'exit'); if (child.exitCode !== 0) throw new Error('the server ended with ' + child.exitCode); };
      return { url: found[1], port: Number(found[2]), child, end };
    }
  }
  throw new Error('the server does not start: ' + said);
}
