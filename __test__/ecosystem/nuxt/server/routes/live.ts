export default defineWebSocketHandler({
  open: (peer) => peer.subscribe('all'),
  message(peer, message) {
    const text = message.text();
    if (text === 'which') return void peer.send('closeCause' in peer.websocket ? 'reactor-ws' : 'ws');
    peer.publish('all', text);
    peer.send(`you: ${text}`);
  },
});
