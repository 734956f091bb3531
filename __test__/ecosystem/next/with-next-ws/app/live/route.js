export function GET() {
  return new Response('a WebSocket, please', { status: 426 });
}

export function UPGRADE(client, server) {
  client.on('message', (data) => {
    const text = data.toString();
    if (text === 'which') return client.send('closeCause' in client ? 'reactor-ws' : 'ws');
    for (const other of server.clients) if (other !== client) other.send(text);
    return client.send(`you: ${text}`);
  });
}
