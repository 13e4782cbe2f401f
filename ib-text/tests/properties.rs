//! The facts of `properties.rs` on random input.

use ib_text::properties;
use proptest::{collection::vec, prelude::*};

proptest! {
    #[test]
    fn any_document_is_encoded_or_refused(bytes in vec(any::<u8>(), 0..300)) {
        properties::any_document_is_encoded_or_refused(&bytes);
    }

    #[test]
    fn documents_of_two_headers_are_encoded_or_refused(
        text in "\\{\"headers\":\\[\\{\"name\":\"(LRH|BTH|GRH|IPv4|FlowControlPacket|MADHeader)\",\"offset\":[0-9]{1,9},\"fields\":\\{(\"(lver|pad_cnt|dlid|op_code)\":[0-9]{1,3})?\\}\\}\\](,\"payload\":\"[0-9a-f]{0,9}\")?(,\"length\":[0-9]{1,9})?\\}"
    ) {
        properties::any_document_is_encoded_or_refused(text.as_bytes());
    }
}
