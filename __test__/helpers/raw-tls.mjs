// A client of TLS 1.2 that shows whatever bytes as its certificates, which a client of OpenSSL would have to read.
import { createCipheriv, createDecipheriv, createECDH, createHash, createHmac, randomBytes, sign } from 'node:crypto';
import net from 'node:net';

const [HANDSHAKE, DATA, CHANGE] = [22, 23, 20];
const [SERVER_HELLO, KEY_EXCHANGE, HELLO_DONE, SERVER_FINISHED] = [2, 12, 14, 20];
// ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 with P-256, signed by ECDSA with SHA-256.
const SUITES = '0002c02b0100';
const EXTENSIONS = '000a000400020017000b00020100000d000400020403';

const bytes = (...parts) => Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.from([part]) : Buffer.from(part, 'hex'))));
const long = (length, ...body) => {
  const all = bytes(...body);
  const prefix = Buffer.alloc(length);
  prefix.writeUIntBE(all.length, 0, length);
  return Buffer.concat([prefix, all]);
};

function expand(secret, label, seed, length) {
  const hmac = (data) => createHmac('sha256', secret).update(data).digest();
  const all = Buffer.concat([Buffer.from(label), seed]);
  let [chained, out] = [all, Buffer.alloc(0)];
  while (out.length < length) out = Buffer.concat([out, hmac(Buffer.concat([(chained = hmac(chained)), all]))]);
  return out.subarray(0, length);
}

/** The first bytes that the server answers to `request`, '' if it refuses the client. `chain`: DER, or what is none. */
export function present(port, { chain, key, request, servername = 'localhost' }) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    const [random, ecdh] = [randomBytes(32), createECDH('prime256v1')];
    const point = ecdh.generateKeys();
    const name = bytes('0000', long(2, long(2, '00', long(2, Buffer.from(servername)))));
    let [unread, messages, transcript, theirs, peerPoint, keys] = [Buffer.alloc(0), Buffer.alloc(0), Buffer.alloc(0), null, null, null];
    const sequence = [0, 0];
    const seal = (type, plain) => {
      const explicit = Buffer.alloc(8);
      explicit.writeUInt32BE(sequence[0]++, 4);
      const cipher = createCipheriv('aes-128-gcm', keys.subarray(0, 16), Buffer.concat([keys.subarray(32, 36), explicit]));
      cipher.setAAD(bytes(explicit, type, '0303', long(2, plain).subarray(0, 2)));
      return bytes(type, '0303', long(2, explicit, cipher.update(plain), cipher.final(), cipher.getAuthTag()));
    };
    const open = (type, body) => {
      const number = Buffer.alloc(8);
      number.writeUInt32BE(sequence[1]++, 4);
      const decipher = createDecipheriv('aes-128-gcm', keys.subarray(16, 32), Buffer.concat([keys.subarray(36, 40), body.subarray(0, 8)]));
      const plain = body.subarray(8, -16);
      decipher.setAAD(bytes(number, type, '0303', long(2, plain).subarray(0, 2)));
      decipher.setAuthTag(body.subarray(-16));
      return Buffer.concat([decipher.update(plain), decipher.final()]);
    };
    const message = (type, ...body) => {
      const all = bytes(type, long(3, ...body));
      transcript = Buffer.concat([transcript, all]);
      return all;
    };
    const finish = () => {
      const mine = [message(11, long(3, ...chain.map((der) => long(3, der)))), message(16, long(1, point))];
      mine.push(message(15, '0403', long(2, sign('sha256', transcript, key))));
      const master = expand(ecdh.computeSecret(peerPoint), 'master secret', Buffer.concat([random, theirs]), 48);
      keys = expand(master, 'key expansion', Buffer.concat([theirs, random]), 40);
      const verified = expand(master, 'client finished', createHash('sha256').update(transcript).digest(), 12);
      const records = mine.map((one) => bytes(HANDSHAKE, '0303', long(2, one)));
      socket.write(bytes(...records, CHANGE, '0303000101', seal(HANDSHAKE, message(SERVER_FINISHED, verified)), seal(DATA, Buffer.from(request))));
    };
    const onMessage = (type, body) => {
      if (type === SERVER_HELLO) theirs = body.subarray(2, 34);
      else if (type === KEY_EXCHANGE) peerPoint = body.subarray(4, 4 + body[3]);
      else if (type === HELLO_DONE) finish();
    };
    const onRecord = (type, body) => {
      if (type === CHANGE) keys.isOn = true;
      else if (type === DATA) return resolve(String(open(type, body)), socket.destroy());
      else if (type === HANDSHAKE && keys?.isOn) open(type, body);
      else if (type === HANDSHAKE) {
        messages = Buffer.concat([messages, body]);
        while (messages.length >= 4 && messages.length >= 4 + messages.readUIntBE(1, 3)) {
          const one = messages.subarray(0, 4 + messages.readUIntBE(1, 3));
          messages = messages.subarray(one.length);
          transcript = Buffer.concat([transcript, one]);
          onMessage(one[0], one.subarray(4));
        }
      }
    };
    socket.on('data', (data) => {
      unread = Buffer.concat([unread, data]);
      while (unread.length >= 5 && unread.length >= 5 + unread.readUInt16BE(3)) {
        const record = unread.subarray(0, 5 + unread.readUInt16BE(3));
        unread = unread.subarray(record.length);
        onRecord(record[0], record.subarray(5));
      }
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(''));
    socket.write(bytes(HANDSHAKE, '0301', long(2, message(1, '0303', random, '00', SUITES, long(2, name, EXTENSIONS)))));
  });
}
